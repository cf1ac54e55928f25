"""Prompts are files, filled in one pass. What is filled in is data: it is never rendered again."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template, meta


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("eduardo", "prompts"),
        undefined=StrictUndefined,
        autoescape=False,  # plain text for language models, no HTML
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(name: str, /, **values: object) -> str:
    """The prompt `prompts/<name>.txt` with its variables filled in, byte for byte.

    Raises ValueError when a variable is missing or unknown, and jinja2.TemplateNotFound for an unknown name.
    """
    template, variables = _load(name)
    if values.keys() != variables:
        raise ValueError(
            f"prompt {name!r} needs exactly the variables {sorted(variables)}, got {sorted(values)}"
        )
    return template.render(values)


@cache
def _load(name: str) -> tuple[Template, frozenset[str]]:
    return _environment().get_template(f"{name}.txt"), _variables(f"{name}.txt")


def _variables(file: str) -> frozenset[str]:
    """Variables of a prompt and of the prompts that it includes."""
    environment = _environment()
    assert environment.loader is not None
    tree = environment.parse(environment.loader.get_source(environment, file)[0])
    included = [_variables(name) for name in meta.find_referenced_templates(tree) if name is not None]
    return frozenset(meta.find_undeclared_variables(tree)).union(*included)
