# SPDX-License-Identifier: GPL-3.0-or-later
"""The papers' tables, and this project's own, as figures by name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Literal, get_args

from ..errors import UserError
from ..paths import weights_folder

System = Literal["nsm", "pfnn", "manifold", "errands", "proposals", "naturalness", "bodies"]
"""What can be evaluated; rigs are by the command line alone, as that takes Blender. Bodies are rigs with a mesh."""

CASES = 200
"""Cases of each kind of the naturalness table; its published rows are of as many."""

COMPONENT_CASES = (100, 50, 100)
"""Sits, carries and room tasks of the table of components: enough to tell 2 % of the tasks."""

Figures = dict[str, float]
Log = Callable[[str], None]
Keep = Callable[[Figures], None]


def silent(_: str) -> None:
    """Tell nothing."""


def evaluate(
    system: System,
    tables: Collection[str] | None = None,
    *,
    weights: Path | str | None = None,
    count: int = CASES,
    processes: int = 2,
    cluster: str | None = None,
    ablations: Path | str | Sequence[Path | str] = (),
    cases: tuple[int, int, int] = COMPONENT_CASES,
    components: Collection[str] | None = None,
    recordings: Path | str | None = None,
    held_out: Collection[str] = (),
    keep: Keep | None = None,
    log: Log = silent,
) -> Figures:
    """Measure a system by its protocol. Returns figures by name, as `nsm-blender evaluate SYSTEM --json` writes them:
    `<system>.<table>.<row>.<column>`, the last of which ends in the unit.

    tables: of the NSM or the PFNN, some of its tables; of naturalness, some of its kinds of cases; of bodies, some;
    None: all. weights: others than the shipped ones, a file of the nsm or pfnn, a folder of the manifold's. count:
    cases of each kind, of naturalness. processes: that measure at the same time, of the nsm, of naturalness, and of the
    components of the pfnn; more than one needs a script whose work is under `if __name__ == "__main__":`, as they are
    started anew. cluster: of the nsm, the address of a Dask scheduler whose workers measure instead, and find files at
    the same paths. ablations: of the nsm, a folder of networks that were trained alike, or several with another seed
    each. cases: sits, carries and room tasks of the NSM's table "components", which is measured only where it is asked
    for, as the PFNN's is. components: some of the rows of these tables, None: all. recordings: of the pfnn, a data
    folder to whose walks the network's are compared, and held_out: performers whose walks are compared so, too; of the
    tables then only those that are named. keep: is given the figures so far as they grow. log: is told each step. All
    tables of a system take minutes. Raises UserError for a table that there is not, and WeightsError.
    """
    if tables is not None and system not in ("nsm", "pfnn", "naturalness", "bodies"):
        raise UserError(f"The tables of '{system}' come together; leave them out.")
    if weights is not None and system not in ("nsm", "pfnn", "manifold"):
        raise UserError(f"'{system}' is measured with the shipped weights; leave the weights out.")
    if ablations and system != "nsm":
        raise UserError("Ablations are of the nsm.")
    if recordings is not None and system != "pfnn":
        raise UserError("Only the pfnn is compared with recordings.")
    if cluster is not None and system != "nsm":
        raise UserError("Only the nsm is measured on a cluster.")
    if count < 1 or processes < 1:
        raise UserError("There has to be at least 1 case of each kind, and 1 process.")
    if min(cases) < 0 or not any(cases):
        raise UserError("There has to be at least 1 task of the components, and no number below 0.")
    path = None if weights is None else Path(weights)
    match system:
        case "nsm":
            several = [ablations] if isinstance(ablations, str | Path) else ablations
            folders = [Path(folder) for folder in several]
            return _nsm(tables, path, processes, cluster, folders, cases, components, keep, log)
        case "pfnn":
            from ..baking.bake import GROUND_PARTS
            from ..evaluation import pfnn

            known = (*pfnn.TABLES, pfnn.COMPONENTS)
            alone = recordings is not None and not tables
            chosen = [] if alone else _some_of(known, tables or list(pfnn.TABLES), "table of the PFNN's")
            parts = _some_of(GROUND_PARTS, components, "component")
            found = pfnn.evaluate(path, log, tables=chosen, components=parts, processes=processes)
            return found | ({} if recordings is None else pfnn.near(path, Path(recordings), held_out, log))
        case "manifold":
            from ..evaluation import manifold

            return manifold.evaluate(path or weights_folder(), log)
        case "errands":
            from ..evaluation import errands

            return errands.evaluate(log=log)
        case "proposals":
            from ..evaluation import proposals
            from ..evaluation.real_furniture import judging

            return proposals.evaluate(proposals.SETS, log) | judging.evaluate(log=log)
        case "naturalness":
            return _naturalness(tables, count, processes, keep, log)
        case "bodies":
            from ..evaluation import rig_bodies, rig_skins

            return rig_bodies.evaluate(_some_of(rig_skins.BODIES, tables, "body"), log)
    raise UserError(f"There is no system '{system}' to evaluate; choose from {', '.join(get_args(System))}.")


def _nsm(
    tables: Collection[str] | None,
    weights: Path | None,
    processes: int,
    cluster: str | None,
    ablations: Sequence[Path],
    cases: tuple[int, int, int],
    components: Collection[str] | None,
    keep: Keep | None,
    log: Log,
) -> Figures:
    from ..evaluation import nsm, nsm_components

    known = (*nsm.TABLES, *nsm.ASKED_FOR)
    chosen = _some_of(known, tables, "table of the NSM's") if tables else list(nsm.TABLES)
    if ablations and not {*nsm.OF_NETWORKS} & set(chosen):
        raise UserError(f"Ablations are for some tables alone; add one of these: {', '.join(nsm.OF_NETWORKS)}.")
    parts = _some_of(nsm_components.component_names(), components, "component")
    return nsm.evaluate(
        weights,
        log,
        tables=chosen,
        processes=processes,
        cluster=cluster,
        ablations=ablations,
        keep=keep,
        cases=cases,
        components=parts,
    )


def _naturalness(kinds: Collection[str] | None, count: int, processes: int, keep: Keep | None, log: Log) -> Figures:
    from ..evaluation.naturalness import table

    chosen = _some_of(table.kinds_of_cases(), kinds, "kind of case")

    def kept(so_far: table.Table) -> None:
        if keep is not None:
            keep(so_far.figures())

    return table.tabulated(chosen, count, processes=processes, log=log, keep=kept).figures()


def _some_of(known: Collection[str], chosen: Collection[str] | None, what: str) -> list[str]:
    """The chosen names, all that are known without any. Raises UserError for one that is not known."""
    unknown = sorted({*(chosen or ())} - {*known})
    if unknown:
        raise UserError(f"There is no {what} '{unknown[0]}'; choose from {', '.join(known)}.")
    return list(chosen or known)
