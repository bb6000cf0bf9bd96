"""The documentation of the API: every URL with its parameters and an example, from OpenAPI."""

from typing import Any
from urllib.parse import quote, urlencode

from eqemb.server.service import Json
from eqemb.server.views.layout import page
from eqemb.server.views.markup import Html, h


def manual(stats: Json, described: Json, example: str) -> bytes:
    """The contents of `/openapi.json` as a page; `example` is the name of an equation."""
    entries = [
        _entry(path, methods["get"], example)
        for path, methods in described["paths"].items()
        if "get" in methods
    ]
    return page(
        "API",
        h("h1", "The API"),
        h("p", "Every query is a single URL, requested with GET and answered in JSON. The pages"
          " show the same data. For programs, ", h("a", "openapi.json", href="/openapi.json"),
          " describes the API.", class_="lead"),
        h("p", "If a request fails, its status is 400 or higher and the answer gives the reason: ",
          h("code", '{"error": "..."}'), ". Every answer has an ", h("code", "ETag"),
          ". Send it back as ", h("code", "If-None-Match"),
          " to get an empty 304 response if nothing has changed. If the server requires a token,"
          " send ", h("code", "Authorization: Bearer TOKEN"), "."),
        entries,
        stats=stats,
        here="/docs",
    )  # fmt: skip


def _entry(path: str, operation: Json, example: str) -> Html:
    parameters = operation.get("parameters", [])
    url = _example(path, parameters, example)
    rows = [
        h("tr",
          h("td", h("code", each["name"]), h("span", " required", class_="section")
            if each.get("required") else None),
          h("td", each.get("description") or each["schema"].get("description") or "",
            _range(each["schema"])))
        for each in parameters
    ]  # fmt: skip
    return h(
        "section",
        h("h2", operation["summary"]),
        h("p", operation.get("description", ""), class_="note"),
        h("p", h("code", f"GET {path}"), class_="address"),
        h("div", h("table", h("tbody", rows)), class_="wide", tabindex="0", role="group",
          aria_label=f"Parameters of {path}") if rows else None,
        h("p", "Example: ", h("a", url, href=url), class_="try"),
    )  # fmt: skip


def _range(schema: Json) -> str:
    """The allowed values and the default."""
    parts = []
    if "enum" in schema:
        parts.append(", ".join(map(str, schema["enum"])))
    if "minimum" in schema and "maximum" in schema:
        parts.append(f"{schema['minimum']} to {schema['maximum']}")
    if schema.get("default") not in (None, "", False):
        parts.append(f"default {schema['default']}")
    return f" ({'; '.join(parts)})" if parts else ""


def _example(path: str, parameters: list[Json], example: str) -> str:
    """A URL that works."""
    article = example.rpartition("#")[0]
    if path.startswith("/v1/equations/"):
        return path.replace("{name}", quote(example))
    if path.startswith("/v1/articles/"):
        return path.replace("{name}", quote(article))
    if "{ending}" in path:
        return path.replace("{ending}", "csv") + "?q=similarity"
    names = {"equation": example, "article": article}
    values: dict[str, Any] = {
        each["name"]: names.get(each["name"]) or _example_value(each)
        for each in parameters
        if each.get("required")
    }
    return path + (f"?{urlencode(values)}" if values else "")


def _example_value(parameter: Json) -> str:
    examples = parameter["schema"].get("examples") or parameter.get("examples") or ["similarity"]
    return str(examples[0])
