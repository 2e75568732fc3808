"""Where HTTP libraries send a request: patched at class level while a capture runs, so that every client is covered.

Clients made before the capture (at import time, cached by a framework, by a session fixture) share these classes. What
stays real: retries, authentication, timeouts, hooks, proxies, since all of them are above the transports.
"""
