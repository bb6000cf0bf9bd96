"""The API's own page: every address with its parameters and an example, from its description."""

from typing import Any
from urllib.parse import quote, urlencode

from eqemb.server.service import Json
from eqemb.server.views.layout import page
from eqemb.server.views.markup import Html, h


def manual(stats: Json, described: Json, example: str) -> bytes:
    """What `/openapi.json` says, for people; `example` is the name of an equation."""
    entries = [
        _entry(path, methods["get"], example)
        for path, methods in described["paths"].items()
        if "get" in methods
    ]
    return page(
        "API",
        h("h1", "The API"),
        h("p", "Every question is one address, asked by GET and answered in JSON; what the pages"
          " show is what it says. ", h("a", "openapi.json", href="/openapi.json"),
          " describes it to programs.", class_="lead"),
        h("p", "A failure has a status of 400 or more and says why: ",
          h("code", '{"error": "..."}'), ". Answers carry an ", h("code", "ETag"),
          "; sent back as ", h("code", "If-None-Match"),
          ", it saves the answer. With a token, send ",
          h("code", "Authorization: Bearer TOKEN"), "."),
        entries,
        stats=stats,
        here="/docs",
    )  # fmt: skip


def _entry(path: str, told: Json, example: str) -> Html:
    parameters = told.get("parameters", [])
    address = _example(path, parameters, example)
    rows = [
        h("tr",
          h("td", h("code", each["name"]), h("span", " needed", class_="section")
            if each.get("required") else None),
          h("td", each.get("description") or each["schema"].get("description") or "",
            _range(each["schema"])))
        for each in parameters
    ]  # fmt: skip
    return h(
        "section",
        h("h2", told["summary"]),
        h("p", told.get("description", ""), class_="note"),
        h("p", h("code", f"GET {path}"), class_="address"),
        h("div", h("table", h("tbody", rows)), class_="wide", tabindex="0", role="group",
          aria_label=f"Parameters of {path}") if rows else None,
        h("p", "Try: ", h("a", address, href=address), class_="try"),
    )  # fmt: skip


def _range(schema: Json) -> str:
    """Which values there are, and which one is taken."""
    said = []
    if "enum" in schema:
        said.append(", ".join(map(str, schema["enum"])))
    if "minimum" in schema and "maximum" in schema:
        said.append(f"{schema['minimum']} to {schema['maximum']}")
    if schema.get("default") not in (None, "", False):
        said.append(f"default {schema['default']}")
    return f" ({'; '.join(said)})" if said else ""


def _example(path: str, parameters: list[Json], example: str) -> str:
    """An address that answers."""
    article = example.rpartition("#")[0]
    if path.startswith("/v1/equations/"):
        return path.replace("{name}", quote(example))
    if path.startswith("/v1/articles/"):
        return path.replace("{name}", quote(article))
    values: dict[str, Any] = {
        each["name"]: example if each["name"] == "equation" else _given(each)
        for each in parameters
        if each.get("required")
    }
    return path + (f"?{urlencode(values)}" if values else "")


def _given(parameter: Json) -> str:
    examples = parameter["schema"].get("examples") or parameter.get("examples") or ["similarity"]
    return str(examples[0])
