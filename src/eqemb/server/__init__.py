"""Serve a library as web pages and an HTTP API.

`service` turns a library's answers into dictionaries, with `queries` (validation), `snippets` (text
as pieces), `article_text` (articles) and `suggestions` (words). `workers` runs it in threads, and
`schemas` describes the dictionaries. The modules of `views` write HTML from the same dictionaries;
`web` has the style sheet and the scripts. `api` and `site` define the URLs, `responses` adds ETags
and a cache, `middleware` controls access. `app` is the whole application, and `run` serves it.
"""
