"""The files of one paper: decode them, choose the main file, find inputs.

Paths are POSIX paths relative to the paper's folder. Nothing here reads the disk.
"""

import posixpath
import re
from bisect import bisect_right
from collections.abc import Collection

_DECLARED = re.compile(
    rb"\\(?:usepackage|RequirePackage)\s*\[([^\]\\]{0,500})\]\s*\{[^}\\]{0,500}inputenc"
    rb"|\\inputencoding\s*\{([^}\\]{0,500})\}"
    rb"|\\begin\s*\{CJK\*?\}\s*(?:\[[^\]]{0,50}\]\s*)?\{([^}]{0,20})\}"
    rb"|\\(?:documentclass|usepackage)\s*\[[^\]\\]{0,500}?\b(GBK|gbk)\b[^\]\\]{0,500}\]\s*\{ctex"
)
#: inputenc's names -> Python's. Others fall back to Windows-1252.
_CODECS = {
    "latin1": "cp1252", "latin9": "iso8859-15", "ansinew": "cp1252", "cp1252": "cp1252",
    "latin2": "iso8859-2", "cp1250": "cp1250", "latin5": "iso8859-9", "applemac": "mac_roman",
    "cp1251": "cp1251", "koi8-r": "koi8-r", "cp850": "cp850", "cp437": "cp437",
    "gbk": "gb18030", "gb": "gb18030", "bg5": "big5", "big5": "big5", "sjis": "shift_jis",
    "jis": "euc_jp", "ks": "euc_kr", "koi8-u": "koi8-u", "cp866": "cp866",
    "latin3": "iso8859-3", "latin4": "iso8859-4", "latin10": "iso8859-16",
}  # fmt: skip
# Authors' texts must not contain the characters that we use as marks (see prose.py).
_RESERVED = re.compile("[\ufffc\x00\U000f0000-\U0010ffff]")
_DOCUMENT_CLASS = re.compile(r"^[^%\n]*\\(?:documentclass|documentstyle)\b", re.MULTILINE)
_BEGIN = re.compile(r"^[^%\n]*\\begin\s*\{document\}", re.MULTILINE)
_INCLUDES = re.compile(
    r"^[^%\n]*?\\(?:input|include|subfile|subfileinclude|import\s*\{[^}]{0,500}\})\s*+(?:\{\s*+)?"
    r"([^\s{}\\]+)",
    re.MULTILINE,
)
#: arXiv's 00README: "paper.tex toplevelfile", or YAML and JSON with filename and usage.
_OLD_README = re.compile(r"^[ \t]*(\S+)[ \t]+toplevelfile[ \t]*$", re.MULTILINE)
_FILENAME = r"filename[\"']?\s*:\s*[\"']?([^\s\"',]{1,500}+)"
_NEW_README = re.compile(
    rf"{_FILENAME}(?:(?!filename).){{0,80}}?toplevel|toplevel(?:(?!usage).){{0,80}}?{_FILENAME}",
    re.DOTALL,
)
_SUPPLEMENT = re.compile(r"supp|append|(?:^|[-_])si\b", re.IGNORECASE)
_UNLIKELY = re.compile(
    r"template|sample|example|response|rebuttal|cover|letter|supp|poster|slides|beamer"
    r"|readme|instructions|changes|diff",
    re.IGNORECASE,
)


def decode(data: bytes, fallback: str = "cp1252") -> str:
    """Decode a file: UTF-8 if valid, else as inputenc declares, else Windows-1252."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        text = data.decode("utf-16", errors="replace")
    else:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = data.decode(declared_codec(data) or fallback, errors="replace")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _RESERVED.sub(" ", text) if _RESERVED.search(text) else text


def declared_codec(data: bytes) -> str | None:
    """The codec that the source declares with inputenc, if any."""
    match = _DECLARED.search(data)
    if match is None:
        return None
    name = match[match.lastindex or 0].decode("ascii", errors="replace").strip().lower()
    return _CODECS.get(name)


class Files:
    """The decoded files of one paper, looked up as LaTeX looks them up."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self._raw = files
        self._text: dict[str, str] = {}
        self._lines: dict[str, list[int]] = {}
        self._fallback = next(
            (codec for data in files.values() if (codec := declared_codec(data))), "cp1252"
        )
        self._by_name: dict[str, list[str]] = {}
        for path in files:
            self._by_name.setdefault(posixpath.basename(path).lower(), []).append(path)

    def text(self, path: str) -> str:
        """The decoded text of one file."""
        if path not in self._text:
            self._text[path] = decode(self._raw[path], self._fallback)
        return self._text[path]

    def line(self, path: str, offset: int) -> int:
        """The 1-based line of an offset into the decoded text."""
        starts = self._lines.get(path)
        if starts is None:
            starts = [match.end() for match in re.finditer("\n", self.text(path))]
            self._lines[path] = starts
        return bisect_right(starts, offset) + 1

    def find(self, name: str, folders: list[str], suffixes: tuple[str, ...]) -> str | None:
        """The file that `name` means, looked for in `folders` in order, then by name alone.

        Papers are moved about before they are packed, so a path that does not exist falls
        back to the only file of that name whose folders do not contradict it.
        """
        name = name.strip().strip('"').strip()
        for folder in folders:
            for suffix in suffixes:
                path = posixpath.normpath(posixpath.join(folder, name + suffix))
                if path in self._raw:
                    return path
        for suffix in suffixes:
            wanted = posixpath.normpath(name + suffix)
            same = self._by_name.get(posixpath.basename(wanted).lower(), [])
            if len(same) == 1 and _agree(same[0], wanted):
                return same[0]
        return None

    def main(self) -> str | None:
        """The file that LaTeX would be run on, or None where nothing looks like one."""
        candidates = [path for path in self._raw if _is_tex(path)]
        named = self._named_by_readme(candidates)
        if named is not None:
            return named
        texts = {path: self.text(path) for path in candidates}
        with_class = [path for path, text in texts.items() if _has_class(text)]
        with_begin = [path for path, text in texts.items() if _has_begin(text)]
        begins = set(with_begin)
        best = [path for path in with_class if path in begins] or with_begin or with_class
        if not best:  # chapters and notes without a preamble: the largest
            return max(candidates, key=lambda path: (len(self._raw[path]), path), default=None)
        included_by = self._included_by(candidates)
        best = [path for path in best if path not in included_by] or best
        return _outermost(max(best, key=self._likelihood), included_by)

    def supplements(self, main: str, used: Collection[str]) -> list[str]:
        """Further documents of the paper whose names mark them as supplement or appendix."""
        return [
            path
            for path in sorted(self._raw)
            if _is_tex(path)
            and path != main
            and path not in used
            and _SUPPLEMENT.search(posixpath.basename(path))
            and _has_class(self.text(path))
            and _has_begin(self.text(path))
        ]

    def unused(self, used: Collection[str]) -> list[str]:
        """TeX files that no document of the paper has read."""
        return [path for path in sorted(self._raw) if _is_tex(path) and path not in used]

    def _included_by(self, candidates: list[str]) -> dict[str, str]:
        """File -> a file that inputs it."""
        included: dict[str, str] = {}
        for path in candidates:
            for name in _INCLUDES.findall(self.text(path)):
                found = self.find(name, ["", posixpath.dirname(path)], ("", ".tex"))
                if found is not None and found != path:
                    included.setdefault(found, path)
        return included

    def _likelihood(self, path: str) -> tuple[int, bool, bool, int, str]:
        """Sort key: shallow, with its own .bbl, not named like a template, large; then by name."""
        stem = posixpath.splitext(path)[0]
        return (
            -path.count("/"),
            stem + ".bbl" in self._raw,
            not _UNLIKELY.search(posixpath.basename(path)),
            len(self._raw[path]),
            path,
        )

    def _named_by_readme(self, candidates: list[str]) -> str | None:
        """The file that arXiv's 00README names as top level."""
        known = set(candidates)
        for path in self._raw:
            if posixpath.basename(path).lower().startswith("00readme"):
                text = self.text(path)
                named = _OLD_README.search(text) or _NEW_README.search(text)
                if named and (name := named[named.lastindex or 1]) in known:
                    return name
        return None


def _has_class(text: str) -> bool:
    return "\\document" in text and _DOCUMENT_CLASS.search(text) is not None


def _has_begin(text: str) -> bool:
    return "{document}" in text and _BEGIN.search(text) is not None


def _agree(path: str, wanted: str) -> bool:
    """Whether one path ends with the other: the same file seen from another folder."""
    longer, shorter = sorted((path.lower(), wanted.lower().lstrip("./")), key=len, reverse=True)
    return longer == shorter or longer.endswith("/" + shorter)


def _outermost(path: str, included_by: dict[str, str]) -> str:
    """The file that includes `path`, if the file with the preamble is itself an input."""
    for _ in range(10):
        if path not in included_by:
            return path
        path = included_by[path]
    return path


def _is_tex(path: str) -> bool:
    name = posixpath.basename(path).lower()
    return name.endswith((".tex", ".ltx", ".latex")) or ("." not in name and "readme" not in name)
