"""Write the structure index of a segment; `structure` says what its files hold, and reads them."""

from array import array
from collections import Counter
from pathlib import Path

import numpy as np

from eqemb.formula.layout import read_canonical
from eqemb.formula.likeness import bare_tag, outline
from eqemb.formula.shapes import form, key, shapes
from eqemb.index import families
from eqemb.index.alignment import AlignmentWriter
from eqemb.index.base_vectors import BaseVectorWriter
from eqemb.index.normal_view import NormalWriter
from eqemb.index.overlap import count_equations
from eqemb.index.postings import (
    KeyedPostingsWriter,
    Keys,
    Postings,
    PostingsWriter,
    hash_texts,
    load_array,
)
from eqemb.index.segments import write_types
from eqemb.index.worked_numbers import WorkedNumbersWriter
from eqemb.library.database import Records
from eqemb.storage.memory import rare_collections


@rare_collections()
def index_structure(records: Records, folder: Path) -> None:
    """Index the structure of every type of a segment into `folder`; equations.npy is there."""
    alignment, units = AlignmentWriter(folder), PostingsWriter(folder, "units")
    keys = KeyedPostingsWriter(folder, "shapes")
    symbols = KeyedPostingsWriter(folder, "symbols")
    # here, since they read the same trees
    base, worked = BaseVectorWriter(folder), WorkedNumbersWriter(folder)
    normal = NormalWriter(folder)
    types, forms = array("Q"), array("Q")
    own: list[tuple[int, ...]] = []
    near: list[list[int]] = []
    for number, canonical, blob in records.types():
        made = read_canonical(canonical)
        counts = Counter(array("i", blob))
        found = sorted(counts)
        units.add_owner(found, number, [counts[unit] for unit in found])
        parts = shapes(made)
        keys.add(number, {"\t".join(shape): n for shape, n in parts.items()})
        symbols.add(number, Counter(bare_tag(node.tag) for node in made.nodes()))
        alignment.add(outline(made))
        base.add(made, parts)
        worked.add(made)
        normal.add(made)
        types.append(key(canonical))
        forms.append(key(form(made)))
        own.append(families.family_keys(made, forms[-1]))
        near.append(families.near_keys(made, parts))
    units.write(records.unit_count())
    Keys.write(folder, "units", hash_texts(records.unit_names()))
    keys.write()
    symbols.write()
    alignment.close()
    base.close()
    worked.close()
    equations = load_array(folder, "equations")[:, 2]
    write_types(folder, np.frombuffer(types, np.uint64), equations)
    Keys.write(folder, "forms", np.frombuffer(forms, np.uint64))
    families.write_families(folder, own, near)
    per_type = np.bincount(equations, minlength=len(types))
    for name in ("units", "shapes"):
        np.save(folder / f"{name}.sizes.npy", count_equations(Postings(folder, name), per_type))
    normal.close(per_type)
