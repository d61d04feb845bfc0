"""Files that are wrong or meant to do harm, by what is wrong with them: ``docs/reliability.md``
says what each gets.
"""

from __future__ import annotations

import gzip
import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

GOOD = b"ann,bob,2\nbob,cid,1.5\nann,dot,3\n"
MATRIX = b"%%MatrixMarket matrix coordinate real general\n"
GRAPHML = (
    b'<graphml><graph edgedefault="undirected"><node id="a"/><node id="b"/>%s</graph></graphml>'
)

GEXF = (
    b'<gexf xmlns="http://www.gexf.net/1.2draft"><graph><nodes><node '
    b'id="a"/></nodes><edges>%s</edges></graph></gexf>'
)


def parquet(columns, **options):
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out, **options)
    return out.getvalue()


def repeated(text, rows):
    return pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), [text])


PARQUET = parquet(
    {"source": ["ann", "bob", "ann"], "target": ["bob", "cid", "dot"], "weight": [2, 1.5, 3]}
)

CASES = {
    "a UTF-8 byte order mark": b"\xef\xbb\xbf" + GOOD,
    "line ends of Windows (CRLF)": GOOD.replace(b"\n", b"\r\n"),
    "line ends of carriage returns alone (CR)": GOOD.replace(b"\n", b"\r"),
    "delimiters, quotes and line breaks in quotes": b'"a,""b""",bob,2\nbob,"c\nd",1\n',
    "a row of another number of columns": GOOD + b"eve,fay\n",
    "a weight that is no number": GOOD + b"eve,fay,much\n",
    "a weight of 0, below 0, NaN or infinite": GOOD + b"eve,fay,nan\n",
    "an id that is empty": GOOD + b",fay,1\n",
    "an id of more than 64 KiB": GOOD + b"x" * 70_000 + b",fay,1\n",
    "two columns of one name": b"source,target,source\nann,bob,cid\n",
    "a million columns": b"a," * 999_999 + b"a\n",
    "a line of more than 4 MiB": b"".join(b"ann,b%d,1\n" % k for k in range(30_000))
    + b"x" * (5 << 20),
    "a quote that is left open": GOOD + b'"eve,fay,1\ngus,hal,1\n',
    "mixed encodings": GOOD + "eve,fée,1\n".encode("latin-1"),
    "UTF-16": GOOD.decode().encode("utf-16"),
    "binary junk": bytes(range(256)) * 4,
    "no bytes at all": b"",
    "nothing but comments": b"# nothing\n% here\n",
    "nothing but a header": b"source,target\n",
    "nothing but a header that names the weight": b"a,b,weight\n",
    "gzip that breaks off": gzip.compress(GOOD * 100, mtime=0)[:-9],
    "gzip whose content is far larger": gzip.compress(GOOD * 600_000, mtime=0),
    "gzip in gzip": gzip.compress(gzip.compress(GOOD, mtime=0), mtime=0),
    "XML that is not well-formed": b"<graphml><graph>",
    "XML that declares entities (billion laughs)": (
        b'<?xml version="1.0"?><!DOCTYPE graphml [<!ENTITY a "ha"><!ENTITY b '
        b'"&a;&a;&a;">]><graphml>&b;</graphml>'
    ),
    "XML that names a file (external entity)": (
        b'<?xml version="1.0"?><!DOCTYPE graphml [<!ENTITY x SYSTEM '
        b'"file:///etc/passwd">]><graphml>&x;</graphml>'
    ),
    "XML of elements within elements": GRAPHML % (b"<a>" * 1000),
    "GraphML whose edge ends nowhere": GRAPHML % b'<edge source="a" target="z"/>',
    "GEXF that declares entities": b'<!DOCTYPE gexf [<!ENTITY a "ha"><!ENTITY b '
    b'"&a;&a;&a;">]><gexf>&b;</gexf>',
    "GEXF whose edge ends nowhere": GEXF % b'<edge source="a" target="z"/>',
    "GML that breaks off": b'graph [ node [ id 1 label "ann" ]',
    "GML of lists within lists": b"graph [ " + b"a [ " * 100_000,
    "JSON of lists within lists": b'{"nodes": ' + b"[" * 100_000,
    "JSON that is no node-link graph": b'{"nodes": {"ann": {}}, "edges": []}',
    "JSON, in gzip, whose content is far larger": gzip.compress(
        b'{"nodes": [' + b'{"id": 1},' * 600_000 + b'{"id": 2}], "links": []}', mtime=0
    ),
    "Matrix Market that announces too much": MATRIX + b"1000000000 1000000000 1\n1 2 1\n",
    "Matrix Market that breaks off": MATRIX + b"3 3 3\n1 2 1\n",
    "Matrix Market with bytes that are no numbers": MATRIX + b"3 3 2\n1 2 1\n\xff\x00 3 1\n",
    "Parquet that breaks off": PARQUET[:-20],
    "Parquet with a page that is damaged": PARQUET[:4] + b"\xff" * 40 + PARQUET[44:],
    "Parquet whose content is far larger": parquet(
        {"source": ["x" * 60_000] * 1000, "target": ["y"] * 1000},
        compression="zstd",
        use_dictionary=False,
    ),
    "Parquet with one long text in many rows": parquet(
        {"source": repeated("x" * 60_000, 10_000), "target": repeated("y", 10_000)}
    ),
    "Parquet with more rows than it can have": parquet(
        {"source": np.zeros(5_000_000, np.int8), "target": np.ones(5_000_000, np.int8)}
    ),
    "Parquet whose ids are lists": parquet({"source": [["x"]], "target": [["y"]]}),
    "Parquet in gzip": gzip.compress(PARQUET, mtime=0),
}
