"""Provider prompt caching: requests as they go out on the wire, judged against dated rules.

`capture` catches what the SDKs send and answers it; `blocks` lays a request out as the positions its provider
hashes; `cache` follows the provider's documented cache over requests and fills in its counters; `checks` judges single
requests and conversations; `money` prices them; `rules` holds every number, with its source and date.
"""
