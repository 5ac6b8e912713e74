"""What README claims is what the results say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from benchmarks.results.claims import MissingResultError, claims, table_rows, with_claims

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"
README = (ROOT / "README.md").read_text()


def test_readme_claims_what_the_results_say():
    """If it differs: python -m benchmarks.results --claims."""
    assert with_claims(README, claims(RESULTS)) == README


def test_readme_has_no_other_figures():
    """A percentage or a factor outside of the marks would not be checked."""
    other = re.sub(r"<!-- claims -->.*<!-- end of claims -->", "", README, flags=re.S)
    other = re.sub(r"```.*?```|https?://\S+", "", other, flags=re.S)
    assert re.findall(r"\d+(?:\.\d+)? ?%|\d+(?:\.\d+)? times", other) == []


def test_a_changed_result_is_noticed(tmp_path):
    for name in ("speed.md", "runs.jsonl"):
        (tmp_path / name).write_text((RESULTS / name).read_text())
    page = tmp_path / "speed.md"
    assert claims(tmp_path) == claims(RESULTS)
    page.write_text(re.sub(r"(\d+) x \|", "7777 x |", page.read_text(), count=1))
    assert "7777 times" in claims(tmp_path)
    assert with_claims(README, claims(tmp_path)) != README


def test_a_result_that_is_missing_is_named(tmp_path):
    (tmp_path / "runs.jsonl").write_text((RESULTS / "runs.jsonl").read_text())
    (tmp_path / "speed.md").write_text("<!-- results: mnist-fit -->\n<!-- end of results -->\n")
    with pytest.raises(MissingResultError, match="PARTS=mnist-fit"):
        claims(tmp_path)


def test_readme_without_marks_is_refused():
    with pytest.raises(MissingResultError, match="0 pairs of marks"):
        with_claims("# dikmeans", "| a |")


def test_rows_of_a_table_are_read_by_their_columns():
    text = "Above.\n\n| a | b c |\n|---:|:---|\n| 1 | x |\n| 2 |  |\n"
    assert table_rows(text) == [{"a": "1", "b c": "x"}, {"a": "2", "b c": ""}]
