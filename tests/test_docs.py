"""What the documentation says is there, and what is there is documented."""

import importlib.util
import re
from pathlib import Path

import pytest

from mayfly.core.estimates import ESTIMATORS
from mayfly.core.policies import POLICIES
from mayfly.lab.replay import Settings, replay, report

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]


def test_written_pages_are_what_the_code_says() -> None:
    path = ROOT / "docs" / "reference" / "generate.py"
    spec = importlib.util.spec_from_file_location("generate", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, page in module.PAGES.items():
        assert (path.parent / name).read_text() == page(), "run python docs/reference/generate.py"


@pytest.mark.parametrize("name", [*POLICIES, *ESTIMATORS])
def test_every_policy_and_estimator_is_documented(name: str) -> None:
    assert f"`{name}`" in (ROOT / "docs" / "reference" / "policies.md").read_text()


def test_every_figure_of_a_run_is_documented(world) -> None:
    text = (ROOT / "docs" / "reference" / "traces.md").read_text()
    table = "".join(line.split("|")[1] for line in text.splitlines() if line.startswith("| "))
    figures, _ = report(replay(world, Settings("index", 0.3 * world.page_rate)))
    for name in figures:
        assert re.search(rf"\b{name}\b", table), f"{name} is not in docs/reference/traces.md"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_policy_of_the_how_to_runs(world, monkeypatch) -> None:
    text = (ROOT / "docs" / "how-to" / "write-a-policy.md").read_text()
    names: dict = {}
    exec(re.search(r"```python\n(.*?)```", text, re.DOTALL)[1], names)
    monkeypatch.setitem(POLICIES, "busiest", names["Busiest"])
    figures, _ = report(replay(world, Settings("busiest", 0.5 * world.page_rate)))
    assert figures["share"] > 0 and figures["page_fetches"] > 100


def test_the_program_of_the_tutorial_runs(tmp_path, monkeypatch, mayfly) -> None:
    text = (ROOT / "docs" / "tutorial" / "first-comparison.md").read_text()
    monkeypatch.chdir(tmp_path)
    exec(re.search(r"```python\n(.*?)```", text, re.DOTALL)[1], {})
    assert mayfly("lab", "info", "my-trace", cwd=tmp_path).returncode == 0
