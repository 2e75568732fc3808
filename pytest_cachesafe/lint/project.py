"""Which file of the project a dotted module name stands for. Nothing is imported; paths decide."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["ProjectIndex"]

# Roots below which single-part names are looked for as well as beside the importer.
_ROOTS = ("", "src/", "lib/", "python/", "app/", "backend/", "source/")


class ProjectIndex:
    """All Python files of a project by relative posix name, and the lookups made on them."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = frozenset(names)
        self._by_last: dict[str, list[str]] = {}
        for name in self.names:
            last = name[:-3].rsplit("/", 1)[-1]
            if last == "__init__":
                last = name[:-12].rsplit("/", 1)[-1]
            self._by_last.setdefault(last, []).append(name)
        self._found: dict[tuple[str, str], str | None] = {}

    def resolve(self, dotted: str, importer: str, level: int = 0) -> str | None:
        """The file of a module, None for one outside the project. `level` counts the dots of a relative import."""
        folder = importer.rsplit("/", 1)[0] if "/" in importer else ""
        if level:
            for _ in range(level - 1):
                folder = folder.rsplit("/", 1)[0] if "/" in folder else ""
            path = dotted.replace(".", "/")
            return self._file("/".join(p for p in (folder, path) if p))
        key = (dotted, folder)
        if key not in self._found:
            self._found[key] = self._absolute(dotted, folder)
        return self._found[key]

    def _file(self, base: str) -> str | None:
        for name in (f"{base}.py", f"{base}/__init__.py" if base else "__init__.py"):
            if name in self.names:
                return name
        return None

    def _absolute(self, dotted: str, folder: str) -> str | None:
        path = dotted.replace(".", "/")
        beside = self._file(f"{folder}/{path}" if folder else path)
        for root in _ROOTS:
            found = self._file(root + path)
            if found:
                return found
        if beside:
            return beside
        if "." not in dotted:
            return None
        ends = (f"/{path}.py", f"/{path}/__init__.py")
        candidates = [n for n in self._by_last.get(dotted.rsplit(".", 1)[-1], ()) if n.endswith(ends)]
        if not candidates:
            return None
        here = folder.split("/")
        return max(candidates, key=lambda n: (_shared(n.split("/"), here), -len(n), n))


def _shared(a: list[str], b: list[str]) -> int:
    count = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        count += 1
    return count
