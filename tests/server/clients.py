"""Clients, URLs and a hostile paper for the tests of the server."""

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from eqemb.server import schemas
from eqemb.server.app import make_app

COSINE = r"\cos(u, v) = \frac{u \cdot v}{\|u\| \|v\|}"
#: Attempts of a paper to inject HTML, in every place that has text.
HOSTILE = r"""\documentclass{article}
\newcommand{\evil}{\text{<img src=x onerror=alert(1)>}}
\title{<script>alert(1)</script> & "quotes" <b onmouseover='alert(2)'>}
\begin{document}\maketitle
\section{A <svg onload=alert(3)> section}
The </p><script>alert(4)</script> weight $<i>x</i> \text{</math><script>}$ decides
\begin{equation} \label{"><script>alert(5)</script>}
 x = \evil + \text{</mtext></math><script>alert(6)</script>} + \href{javascript:alert(7)}{y}
 + \mbox{ style="position:fixed"} + \onclick + \script{z} \begin{array}{lr} a & b \end{array}
\end{equation}
so that the weight <a href="javascript:alert(8)">stays</a> harmless.
\end{document}
"""
#: URLs of the API with the schemas of their answers.
ENDPOINTS: dict[str, type[schemas.Schema]] = {
    "/v1/search?q=cosine+unheardof": schemas.SearchSchema,
    "/v1/search?q=%24x%24+cosine&article=angles&numbered=true": schemas.SearchSchema,
    "/v1/search?q=%24%5Cfrac%7Ba%7D%7Bb%7D%24": schemas.SearchSchema,
    "/v1/similar?equation=angles%231": schemas.SearchSchema,
    "/v1/similar?equation=x%3Dy&by=structure": schemas.SearchSchema,
    "/v1/describe?equation=angles%231": schemas.DescriptionSchema,
    "/v1/describe?equation=%5Caleph": schemas.DescriptionSchema,
    "/v1/words?word=recall&count=3": schemas.NeighboursSchema,
    "/v1/suggest?start=co": schemas.SuggestionsSchema,
    "/v1/render?q=cosine+%24x_1%24": schemas.RenderedQuerySchema,
    "/v1/why?query=cosine&equation=angles%231": schemas.ExplanationSchema,
    "/v1/why?query=documents%231&equation=angles%231": schemas.ExplanationSchema,
    "/v1/equations/angles%231": schemas.EquationDetailsSchema,
    "/v1/equations/documents(2.3)": schemas.EquationDetailsSchema,
    "/v1/equations/angles:eq:cos": schemas.EquationDetailsSchema,
    "/v1/symbols?equation=angles%231": schemas.SymbolsSchema,
    "/v1/glossary?article=angles": schemas.GlossarySchema,
    "/v1/notation?q=cosine": schemas.NotationSchema,
    "/v1/articles": schemas.ArticleListSchema,
    "/v1/articles/angles": schemas.ArticleSchema,
    "/v1/stats": schemas.StatsSchema,
    "/v1/healthz": schemas.HealthSchema,
}
PAGES = [
    "/",
    "/?q=cosine+similarity",
    "/?q=%24%5Cfrac%7Ba%7D%7Bb%7D%24",
    "/?q=unheardof",
    "/equation?name=angles%231",
    "/equation?latex=angles%231",
    "/equation?latex=x%3Dy",
    "/equation?latex=%5Caleph",
    "/why?query=cosine&equation=angles%231",
    "/why?query=documents%231&equation=angles%231",
    "/words?word=cosine",
    "/articles",
    "/articles/angles?equation=1",
    "/symbols?equation=angles%231",
    "/glossary?article=angles",
    "/notation",
    "/notation?q=cosine",
    "/report",
    "/model",
    "/docs",
]


def make_client(folder: Path, **settings: Any) -> TestClient:
    """A client of a server for a library; `settings` are those of `make_app`."""
    app = make_app(folder, **settings)
    return TestClient(app, base_url="http://localhost", raise_server_exceptions=False)


class Elements(HTMLParser):
    """The elements of a page with their attributes; asserts that they are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record an element."""
        self.found.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "input", "br", "hr"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record an empty element."""
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        """Close the element that was opened last."""
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag
