"""How each provider speaks. One file per wire protocol; no sockets, no clocks, no keys kept.

CATALOG is the only list of models there is. To add one: write its file, add its line.
"""

from functools import partial

from providers.assemblyai import AssemblyAI
from providers.aws import Transcribe
from providers.azure import Azure
from providers.cartesia import Cartesia
from providers.cartesia_turns import CartesiaTurns
from providers.codec import Model
from providers.deepgram import Deepgram
from providers.deepgram_flux import Flux
from providers.deepgram_flux_turns import FluxTurns
from providers.elevenlabs import ElevenLabs
from providers.families_realtime import Realtime
from providers.fireworks import Fireworks
from providers.gladia import Gladia
from providers.google import Google
from providers.gradium import Gradium
from providers.inworld import Inworld
from providers.kyutai import LARGE_FACTS, Kyutai
from providers.local import Local
from providers.mistral import Mistral
from providers.openai import openai
from providers.qwen import qwen
from providers.realtime_servers import CLONE, SGLANG, SPEACHES
from providers.revai import RevAi
from providers.riva import Riva
from providers.sarvam import Sarvam
from providers.sherpa import Sherpa
from providers.smallest import Smallest
from providers.soniox import Soniox
from providers.speechmatics import Speechmatics
from providers.together import together
from providers.vllm import Vllm
from providers.vosk import Vosk
from providers.whisper_streaming import WhisperStreaming
from providers.whisperlive import WhisperLive
from providers.wyoming import Wyoming
from providers.xai import Xai

CATALOG: dict[str, Model] = {
    "local/moonshine-tiny": Model(
        partial(Local, model="moonshine-tiny"), "Moonshine tiny (embedded)"
    ),
    "local/pocketsphinx": Model(partial(Local, model="pocketsphinx"), "PocketSphinx (embedded)"),
    "deepgram/nova-3": Model(partial(Deepgram, model="nova-3"), "Deepgram Nova-3"),
    "gladia/solaria-1": Model(partial(Gladia, model="solaria-1"), "Gladia Solaria-1"),
    "cartesia/ink-2": Model(partial(Cartesia, model="ink-2"), "Cartesia Ink 2"),
    "cartesia/ink-2-turns": Model(
        partial(CartesiaTurns, model="ink-2"), "Cartesia Ink 2, turns ended by the model"
    ),
    "cartesia/ink-whisper": Model(partial(Cartesia, model="ink-whisper"), "Cartesia Ink-Whisper"),
    "deepgram/flux-general-en": Model(
        partial(Flux, model="flux-general-en"),
        "Deepgram Flux (English)",
        fake="deepgram-flux",
        transcripts=("deepgram_flux", "deepgram_flux_noturn"),
    ),
    "deepgram/flux-general-multi": Model(
        partial(Flux, model="flux-general-multi"),
        "Deepgram Flux (multilingual)",
        fake="deepgram-flux",
        transcripts=("deepgram_flux", "deepgram_flux_noturn"),
    ),
    "deepgram/flux-general-en-turns": Model(
        partial(FluxTurns, model="flux-general-en"),
        "Deepgram Flux (English), turns ended by the model",
        fake="deepgram-flux",
        transcripts=("deepgram_fluxturns",),
    ),
    "assemblyai/universal-streaming-english": Model(
        partial(AssemblyAI, model="universal-streaming-english"),
        "AssemblyAI Universal-Streaming (English)",
    ),
    "assemblyai/universal-streaming-multilingual": Model(
        partial(AssemblyAI, model="universal-streaming-multilingual"),
        "AssemblyAI Universal-Streaming (multilingual)",
    ),
    "assemblyai/u3-rt-pro": Model(
        partial(AssemblyAI, model="u3-rt-pro"), "AssemblyAI Universal-3 Pro Streaming"
    ),
    "assemblyai/universal-3-6-pro": Model(
        partial(AssemblyAI, model="universal-3-6-pro"), "AssemblyAI Universal-3.6 Pro Streaming"
    ),
    "speechmatics/enhanced": Model(
        partial(Speechmatics, model="enhanced"), "Speechmatics Enhanced"
    ),
    "speechmatics/standard": Model(
        partial(Speechmatics, model="standard"), "Speechmatics Standard"
    ),
    "soniox/stt-rt-v5": Model(partial(Soniox, model="stt-rt-v5"), "Soniox v5 realtime"),
    "elevenlabs/scribe-v2-realtime": Model(
        partial(ElevenLabs, model="scribe_v2_realtime"), "ElevenLabs Scribe v2 Realtime"
    ),
    "smallest/pulse": Model(partial(Smallest, model="pulse"), "Smallest AI Pulse"),
    "gradium/default": Model(partial(Gradium, model="default"), "Gradium speech to text"),
    "openai/gpt-live-transcribe": Model(
        partial(Realtime, dialect=openai("gpt-live-transcribe", live=True)),
        "OpenAI GPT Live Transcribe",
    ),
    "openai/gpt-realtime-whisper": Model(
        partial(Realtime, dialect=openai("gpt-realtime-whisper", live=True)),
        "OpenAI GPT Realtime Whisper",
    ),
    "openai/gpt-4o-transcribe": Model(
        partial(Realtime, dialect=openai("gpt-4o-transcribe", live=False)),
        "OpenAI GPT-4o Transcribe",
    ),
    "openai/gpt-4o-mini-transcribe": Model(
        partial(Realtime, dialect=openai("gpt-4o-mini-transcribe", live=False)),
        "OpenAI GPT-4o mini Transcribe",
    ),
    "together/whisper-large-v3": Model(
        partial(Realtime, dialect=together("openai/whisper-large-v3")), "Together Whisper large-v3"
    ),
    "together/parakeet-tdt-0.6b-v3": Model(
        partial(Realtime, dialect=together("nvidia/parakeet-tdt-0.6b-v3")),
        "Together Parakeet TDT 0.6B v3",
    ),
    "together/nemotron-3-asr-streaming-0.6b": Model(
        partial(
            Realtime, dialect=together("nvidia/nemotron-3-asr-streaming-0.6b", looks_ahead=True)
        ),
        "Together Nemotron 3 ASR streaming 0.6B",
    ),
    "together/nemotron-3.5-asr-streaming-0.6b": Model(
        partial(
            Realtime, dialect=together("nvidia/nemotron-3.5-asr-streaming-0.6b", looks_ahead=True)
        ),
        "Together Nemotron 3.5 ASR streaming 0.6B",
    ),
    "qwen/qwen3-asr-flash-realtime": Model(
        partial(Realtime, dialect=qwen("qwen3-asr-flash-realtime")),
        "Alibaba Qwen3-ASR Flash Realtime",
    ),
    "qwen/qwen3-asr-flash-realtime-2026-02-10": Model(
        partial(Realtime, dialect=qwen("qwen3-asr-flash-realtime-2026-02-10")),
        "Alibaba Qwen3-ASR Flash Realtime, 2026-02-10",
    ),
    "mistral/voxtral-mini-transcribe-realtime-2602": Model(
        partial(Mistral, model="voxtral-mini-transcribe-realtime-2602"),
        "Mistral Voxtral Mini Transcribe Realtime",
    ),
    "mistral/voxtral-mini-transcribe-realtime-3-0": Model(
        partial(Mistral, model="voxtral-mini-transcribe-realtime-3-0"),
        "Mistral Voxtral Mini Transcribe Realtime 3",
    ),
    "xai/grok-stt": Model(Xai, "xAI Grok speech to text"),
    "vllm/voxtral-mini-4b-realtime": Model(
        partial(Vllm, model="mistralai/Voxtral-Mini-4B-Realtime-2602"),
        "vLLM, Voxtral Mini 4B Realtime (self-hosted)",
    ),
    "sglang/realtime": Model(partial(Realtime, dialect=SGLANG), "SGLang realtime (self-hosted)"),
    "speaches/faster-whisper-small": Model(
        partial(Realtime, dialect=SPEACHES), "speaches, faster-whisper small (self-hosted)"
    ),
    "realtime/clone": Model(
        partial(Realtime, dialect=CLONE), "any server of the OpenAI realtime protocol (self-hosted)"
    ),
    "inworld/inworld-stt-1": Model(partial(Inworld, model="inworld-stt-1"), "Inworld STT-1"),
    "sarvam/saaras-v3-realtime": Model(
        partial(Sarvam, model="saaras:v3-realtime"), "Sarvam Saaras v3 realtime"
    ),
    "sarvam/saaras-v4": Model(partial(Sarvam, model="saaras:v4"), "Sarvam Saaras v4 realtime"),
    "revai/reverb": Model(partial(RevAi, transcriber="machine_v2"), "Rev.ai Reverb"),
    "fireworks/asr-large": Model(partial(Fireworks, model="asr-large"), "Fireworks ASR large"),
    "fireworks/asr-v2": Model(partial(Fireworks, model="asr-v2"), "Fireworks ASR v2"),
    "aws/transcribe": Model(Transcribe, "Amazon Transcribe streaming"),
    "azure/conversation": Model(Azure, "Azure Speech, conversation"),
    "vosk/server": Model(Vosk, "Vosk server (self-hosted)"),
    "sherpa/online": Model(Sherpa, "sherpa-onnx streaming server (self-hosted)"),
    "whisperlive/small": Model(
        partial(WhisperLive, model="small"), "WhisperLive, Whisper small (self-hosted)"
    ),
    "google/chirp-3": Model(partial(Google, model="chirp_3"), "Google Chirp 3"),
    "google/latest-long": Model(partial(Google, model="latest_long"), "Google latest_long"),
    "riva/nemotron-asr-streaming": Model(
        partial(Riva, forced=True), "NVIDIA Nemotron ASR streaming (self-hosted)"
    ),
    "riva/parakeet": Model(partial(Riva, forced=False), "NVIDIA Parakeet (self-hosted)"),
    "nvidia/nemotron-asr-streaming": Model(
        partial(Riva, forced=True, cloud=True),
        "NVIDIA Nemotron ASR streaming (cloud)",
        fake="riva",
    ),
    "kyutai/stt-1b-en-fr": Model(Kyutai, "Kyutai STT 1B, English and French (self-hosted)"),
    "kyutai/stt-2.6b-en": Model(
        partial(Kyutai, facts=LARGE_FACTS), "Kyutai STT 2.6B, English (self-hosted)"
    ),
    "whisper-streaming/server": Model(WhisperStreaming, "whisper_streaming server (self-hosted)"),
    "wyoming/server": Model(Wyoming, "any Wyoming speech-to-text server (self-hosted)"),
}
