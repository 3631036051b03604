#!/bin/sh
# A client against a provider that acknowledges early: does it take the acknowledgement for a final?
# Usage: ci.sh CLIP, with speechbench and python3 on the path.
set -eu
clip=$1
here=$(dirname "$0")
work=$(mktemp -d)

speechbench fake --script "$here/ack-early.toml" --json --log "$work/heard.jsonl" \
  --connections 1 >"$work/ready.json" &
fake=$!
trap 'kill "$fake" 2>/dev/null || :; rm -r "$work"' EXIT

until [ -s "$work/ready.json" ]; do
  kill -0 "$fake" # it has not ended by mistake
  sleep 0.1
done
address=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["address"])' <"$work/ready.json")

# The client: put your own here.
DEEPGRAM_API_KEY=any speechbench run --model deepgram/nova-3 --url "$address" \
  --journal "$work/journal" --json "$clip" >"$work/result.json" || :

wait "$fake"

python3 - "$work" <<'END'
import json, sys

work = sys.argv[1]
heard = [json.loads(line) for line in open(f"{work}/heard.jsonl")]
(result,) = json.load(open(f"{work}/result.json"))["measurements"]

force = next(one for one in heard if "Finalize" in one.get("text", ""))
answers = [one for one in heard if one["side"] == "said" and '"is_final": true' in one.get("text", "")]
after_ms = [(one["at_ns"] - force["at_ns"]) / 1e6 for one in answers]
took_ms = result["time_to_final_ns"] / 1e6

assert result["selection"] == "forced_final", result["verdict"]
assert result["transcript"], "the acknowledgement was taken for the final"
assert took_ms > after_ms[0], "the acknowledgement stopped the watch"
print(f"acknowledged after {after_ms[0]:.0f} ms, final after {after_ms[1]:.0f} ms, measured {took_ms:.0f} ms")
END
