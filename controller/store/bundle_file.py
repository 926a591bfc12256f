"""The file of a bundle: written whole, verified before it is used.

A tar archive of `manifest.json` (what is in it, with digests), `record.json` (launch, head, open
effect, questions, messages, worktree), `audit.jsonl`, `artifacts/<sha-256>` and `repo.bundle`
(git-bundle(1): the run's branch and snapshots, without what the base has).
"""

import io
import json
import os
import re
import tarfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from controller.core.canonical import JsonObject, canonical, digest, digest_bytes, entries, members
from controller.core.errors import Damaged, SetupError
from controller.core.facts import Snapshot
from controller.core.head import Stop
from controller.store.bundle import Bundle
from controller.store.points import POINTS
from controller.store.rows import first_break, head_of, int_in, object_in
from controller.store.tables import AuditRow, ConfirmationRow, RunRow

_RUN = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")
_FIXED = ("manifest.json", "record.json", "audit.jsonl", "repo.bundle")


def write(bundle: Bundle, place: Path) -> str:
    """Write the file and return its SHA-256. Nobody ever sees half of it."""
    files = dict(_files(bundle))
    manifest: JsonObject = {
        "schema": "oneshot/bundle@1", "run": bundle.run, "base": bundle.fixed.base,
        "version": bundle.row.head["version"], "records": len(bundle.audit),
        "last": bundle.audit[-1].hash, "documents": digest(bundle.fixed.documents),
        "policy": digest(bundle.fixed.documents.get("policy")),
        "files": {name: digest_bytes(data) for name, data in files.items()}}
    beside = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        with beside.open("wb") as file:
            with tarfile.open(fileobj=file, mode="w") as archive:
                for name, data in {"manifest.json": canonical(manifest), **files}.items():
                    about = tarfile.TarInfo(name)
                    about.size = len(data)
                    archive.addfile(about, io.BytesIO(data))
            file.flush()
            os.fsync(file.fileno())
        beside.replace(place)
        folder = os.open(place.absolute().parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    finally:
        beside.unlink(missing_ok=True)
    return digest_bytes(place.read_bytes())


def read(place: Path) -> Bundle:
    """The bundle in a file, verified: every digest, the audit chain, the documents.

    Raises SetupError naming the first thing that does not match.
    """
    files = _read_files(place)
    manifest = _json(place, files, "manifest.json")
    if manifest.get("schema") != "oneshot/bundle@1":
        raise SetupError(f"{place}: expected a bundle of `oneshot export`, got schema "
                         f"{manifest.get('schema')!r}")
    for name, wanted in entries(manifest.get("files")).items():
        if name not in files or digest_bytes(files[name]) != wanted:
            raise SetupError(f"{place}: {name} is {'changed' if name in files else 'missing'}: it "
                             "does not have the digest that the manifest names; export again")
    record = _json(place, files, "record.json")
    try:
        bundle = _bundle(record, files)
        head_of(bundle.row.head)
    except (Damaged, KeyError, ValueError, TypeError, IndexError, AssertionError) as fault:
        raise SetupError(f"{place}: record.json or audit.jsonl is not as `oneshot export` writes "
                         f"it: {fault!r}") from fault
    _verify(place, bundle, manifest)
    _verify_head(place, bundle)
    return bundle


def _files(bundle: Bundle) -> Iterator[tuple[str, bytes]]:
    row = bundle.row
    yield "record.json", canonical({
        "launch": bundle.launch, "effect": bundle.effect, "worktree": asdict(bundle.worktree),
        "row": {"run": row.run, "head": row.head, "token": row.token},
        "confirmations": [{"id": item.id, "status": item.status, "body": item.body}
                          for item in bundle.confirmations],
        "messages": [[id, text] for id, text in bundle.messages],
        "contracts": list(bundle.contracts)})
    yield "audit.jsonl", b"".join(canonical({**asdict(link)}) + b"\n" for link in bundle.audit)
    yield "repo.bundle", bundle.repo
    for name, data in bundle.artifacts.items():
        yield f"artifacts/{name}", data


def _read_files(place: Path) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    try:
        with tarfile.open(place, "r:") as archive:
            for member in archive:
                file = archive.extractfile(member)
                known = member.name in _FIXED or member.name.startswith("artifacts/")
                if file is None or not known or member.name in found:
                    raise SetupError(f"{place}: {member.name!r} does not belong into a bundle")
                found[member.name] = file.read()
    except (OSError, tarfile.TarError, EOFError) as fault:
        raise SetupError(f"{place}: expected a bundle of `oneshot export`: {fault}") from fault
    return found


def _json(place: Path, files: dict[str, bytes], name: str) -> JsonObject:
    try:
        return object_in(json.loads(files[name]))
    except (KeyError, ValueError, AssertionError) as fault:
        raise SetupError(f"{place}: expected a bundle of `oneshot export`: {name} is missing or "
                         "damaged") from fault


def _bundle(record: JsonObject, files: dict[str, bytes]) -> Bundle:
    row, effect = entries(record["row"]), record["effect"]
    run = str(row["run"])
    links = [entries(json.loads(line)) for line in files["audit.jsonl"].splitlines()]
    return Bundle(
        entries(record["launch"]),
        RunRow(run, entries(row["head"]), int_in(row["token"])),
        effect if isinstance(effect, dict) else None,
        tuple(ConfirmationRow(run, str(item["id"]), str(item["status"]), entries(item["body"]))
              for item in map(entries, members(record["confirmations"]))),
        tuple((int_in(members(item)[0]), str(members(item)[1]))
              for item in members(record["messages"])),
        tuple(map(entries, members(record.get("contracts")))),
        tuple(AuditRow(run, int_in(link["number"]), entries(link["body"]), str(link["prev"]),
                       str(link["hash"])) for link in links),
        {name.removeprefix("artifacts/"): data for name, data in files.items()
         if name.startswith("artifacts/")},
        files["repo.bundle"],
        Snapshot(str(entries(record["worktree"])["tree"]),
                 str(entries(record["worktree"])["extras"])))


def _verify_head(place: Path, bundle: Bundle) -> None:
    """The head is where the audit trail ends: nothing is proved by what is written into it."""
    points = [link.body for link in bundle.audit if link.body["kind"] in POINTS]
    head, last = bundle.row.head, points[-1]
    stopped = entries(head["stopped"]).get("why")
    if head["version"] != last["version"] or str(last["state"]) not in bundle.artifacts or (
            stopped == Stop.FINISHED.value and entries(last["stopped"]).get("why") != stopped):
        raise SetupError(f"{place}: the head of the run is not where its audit trail ends")


def _verify(place: Path, bundle: Bundle, manifest: JsonObject) -> None:
    broken = first_break(bundle.audit)
    if broken:
        raise SetupError(f"{place}: the audit trail breaks at record {broken}")
    documents = bundle.fixed.documents
    if not _RUN.fullmatch(bundle.run) or bundle.run != bundle.fixed.run:
        raise SetupError(f"{place}: {bundle.run!r} is no id of a run")
    for name, data in bundle.artifacts.items():
        if digest_bytes(data) != name:
            raise SetupError(f"{place}: artifacts/{name} does not hold what its name says")
    for what, found, wanted in (
            ("the audit trail's last record", bundle.audit[-1].hash, manifest.get("last")),
            ("the documents", digest(documents), manifest.get("documents")),
            ("the documents", digest(documents), bundle.audit[0].body.get("documents")),
            ("the policy", digest(documents.get("policy")), manifest.get("policy")),
            ("the version", bundle.row.head["version"], manifest.get("version"))):
        if found != wanted:
            raise SetupError(f"{place}: {what} is not what the manifest or the audit trail says: "
                             f"expected {wanted}, got {found}")
