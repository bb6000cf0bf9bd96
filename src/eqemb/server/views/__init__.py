"""HTML pages, written from the dictionaries of `server.service`."""
