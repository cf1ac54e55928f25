"""What a folder of results was measured under: noted once, and compared before anything is added."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from eduardo.config import ClassroomSettings
from eduardo.config.settings import ServerSettings
from eduardo.errors import UserError
from eduardo.evaluation.settings import TutorSettings
from eduardo.evaluation.tutors import TutorKind, TutorSpec
from eduardo.files import changed_keys, write_whole

MANIFEST = "manifest.json"
_decoder = msgspec.json.Decoder(dict[str, object])


def claim_folder(folder: Path, facts: Mapping[str, object]) -> None:
    """Note what the folder's results are made with. Raises UserError when it holds those of something else."""
    manifest = folder / MANIFEST
    if not manifest.is_file():
        write_whole(manifest, msgspec.json.format(msgspec.json.encode(facts), indent=1))
        return
    try:
        noted = _decoder.decode(manifest.read_bytes())
    except msgspec.MsgspecError:
        raise UserError(
            f"{manifest}: does not say what the results there were made with; choose another out_dir or remove {folder}"
        ) from None
    changed = changed_keys(noted, facts)
    if changed:
        raise UserError(
            f"{folder} holds results made with another {', '.join(changed)}: choose another out_dir or remove {folder}"
        )


def tutor_facts(spec: TutorSpec, settings: TutorSettings) -> dict[str, object]:
    """All that the turns of this kind of tutor depend on, apart from the recipe."""
    facts: dict[str, object] = {
        "tutor": f"{spec.target}#{spec.model}",
        "temperature": settings.temperature,
        "top_p": settings.top_p,
    }
    if spec.kind in (TutorKind.CHECKPOINT, TutorKind.ENDPOINT):
        facts["tutor_extra_body"] = settings.tutor_endpoint.extra_body
    if spec.kind is TutorKind.CHECKPOINT:
        facts["apply_chat_template_kwargs"] = settings.apply_chat_template_kwargs
    if spec.kind is TutorKind.ENDPOINT:
        facts["endpoint_thinking"] = settings.endpoint_thinking
        facts["endpoint_tokenizer"] = settings.endpoint_tokenizer
    return facts


def classroom_facts(classroom: ClassroomSettings) -> dict[str, object]:
    """Who student and judge are, apart from where they are served."""
    server = classroom.server
    return {
        "student": classroom.student.model,
        "student_extra_body": classroom.student.request_fields,
        "judge": classroom.judge.model,
        "judge_extra_body": classroom.judge.request_fields,
        "classroom_model_path": server.model_path if isinstance(server, ServerSettings) else None,
    }
