"""XML from strangers, read by expat: it streams and knows its line."""

from collections.abc import Iterable
from xml.parsers import expat

from .errors import GraphError
from .limits import DEPTH


class SafeXml:
    """A reader that refuses great depth and document types, so that no entity is ever declared, expanded or fetched."""

    def __init__(self, where: str, format: str) -> None:
        self.where, self._format, self._depth = where, format, 0
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.StartElementHandler, self.parser.EndElementHandler = self._start, self._end
        self.parser.StartDoctypeDeclHandler = self._refuse_doctype

    def parse(self, blocks: Iterable[bytes]) -> None:
        """Read a document, whose blocks come one after the other."""
        try:
            for block in blocks:
                self.parser.Parse(bytes(block), False)
            self.parser.Parse(b"", True)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            raise GraphError(f"{self.where}, line {error.lineno}: this is not well-formed XML: {reason}") from None
        except GraphError:
            raise
        except (LookupError, ValueError) as error:  # an encoding that is declared and not known
            raise GraphError(f"{self.where}: this is not well-formed XML: {error}") from None

    def fail(self, reason: str) -> GraphError:
        """An error that names the line."""
        return GraphError(f"{self.where}, line {self.parser.CurrentLineNumber}: {reason}")

    def opened(self, tag: str, attributes: dict[str, str]) -> None:
        """An element begins; its tag has no namespace."""

    def closed(self) -> None:
        """The innermost element ends."""

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > DEPTH:
            raise self.fail(f"more than {DEPTH} elements stand within each other: no {self._format}")
        self.opened(tag.rpartition(" ")[2], attributes)

    def _end(self, _: str) -> None:
        self._depth -= 1
        self.closed()

    def _refuse_doctype(self, *_: object) -> None:
        raise self.fail(f"a document type is declared, which {self._format} does not need: remove the <!DOCTYPE ...>")
