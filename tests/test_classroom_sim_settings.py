"""Parameters of the simulation: shipped values are sound, bad ones are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from eduardo.classroom.sim_settings import SimSettings, load_sim_settings
from eduardo.errors import UserError
from eduardo.resources import configs_dir
from eduardo.settings import read_yaml

SHIPPED = (configs_dir() / "sim" / "default.yaml").read_text()


def test_the_shipped_file_loads() -> None:
    assert load_sim_settings("default").student.ceiling == 0.97


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("ceiling: 0.97", "ceiling: 1.97", "student.ceiling"),
        ("ceiling: 0.97", "ceilling: 0.97", "student.ceil"),
        ("ceiling: 0.97", "ceiling: 0.5", "cold_max <= ceiling"),
        ("told_weight: 0.8", "told_weight: 0.95", "learn best by being told"),
        ("vote_error: 0.01", "vote_error: 0.5", "judge.vote_error"),
        ("max_tries: 3", "max_tries: often", "student.max_tries"),
        ("judge:", "judge: [", "line"),
    ],
)
def test_a_bad_value_is_named_with_its_file(old: str, new: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(SHIPPED.replace(old, new))
    with pytest.raises(UserError, match=r"mine\.yaml: ") as caught:
        read_yaml(path, SimSettings)
    assert complaint in str(caught.value)


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(UserError, match=r"nowhere\.yaml: No such file"):
        load_sim_settings("nowhere")
