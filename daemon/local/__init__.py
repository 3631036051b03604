"""The embedded recogniser: a streaming speech-to-text server of our own, on this host.

It runs in a process of its own and is spoken to over a websocket, so that it is measured exactly
like any provider. ``docs/local-protocol.md`` says how to speak to it.

    socket ─ server ─ protocol ─> worker ─ hearing ─ engine
              trio      pure      thread    pure     the model
"""
