"""A library as a page and an API.

`answers` turns a library's answers into dictionaries, with `reading` (articles) and `snippets`
(text as pieces); `counter` asks them in threads, one open library each; `forms` says what the
dictionaries look like. `markup`, `frame`, `pages`, `accounts` and `manual` write HTML from the same
dictionaries; the files in `web/` are its style and script. `api` and
`site` put all of it at addresses, `replies` and `guard` say how answers travel and who may ask,
`app` is the whole and `running` opens the door.
"""
