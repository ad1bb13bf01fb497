"""The list of scenarios names tests that exist."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
CLAIM = re.compile(r"^\| (S\d) \| (.+) \| `(.+)::(.+)` \|$", re.MULTILINE)


def test_every_scenario_is_claimed_by_a_test_that_exists() -> None:
    listed = (ROOT / "tests" / "scenarios.md").read_text(encoding="utf-8")
    claims = CLAIM.findall(listed)

    missing = [(scenario, test) for _, scenario, file, test in claims if test not in functions_in(ROOT / file)]

    assert missing == []
    assert len(claims) == listed.count("\n| S")


def functions_in(file: Path) -> set[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
