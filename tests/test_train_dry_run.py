"""`train --dry-run`: what would run, and what an ablation changes."""

import pytest

from eduardo.train import main

pytestmark = pytest.mark.timeout(300)  # it composes two whole configurations


def test_an_ablation_changes_one_leaf_and_nothing_else(tmp_path, capsys):
    words = [f"run.dir={tmp_path / 'run'}", "ablation=no_masking", "preflight.enabled=false"]
    assert main([*words, "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"run folder {tmp_path / 'run'}"
    assert [line.strip() for line in lines if "→" in line] == ["recipe.post_test.mask_tutor: True → False"]
    assert not (tmp_path / "run").exists()


def test_the_full_recipe_differs_in_nothing(capsys):
    assert main(["recipe=paper", "preflight.enabled=false", "--dry-run"]) == 0
    assert "no difference from ablation=none" in capsys.readouterr().out
