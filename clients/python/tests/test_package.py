"""The wheel, and the programs that the documentation shows."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import quotebook

from .conftest import ROOT, SOON, Service

PACKAGE = ROOT / "clients" / "python"
HOW_TO = ROOT / "docs" / "how-to" / "follow-the-feed-from-python.md"


def test_the_wheel_has_every_module_and_its_types_and_works_when_installed(tmp_path: Path) -> None:
    source = tmp_path / "source"
    # Builds leave files beside the source.
    shutil.copytree(PACKAGE, source, ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    offline = ["--quiet", "--no-index", "--no-deps"]
    subprocess.run([*pip, "wheel", *offline, "--no-build-isolation", "-w", str(tmp_path), str(source)], check=True)
    (wheel,) = tmp_path.glob("quotebook-*.whl")
    assert wheel.name == f"quotebook-{quotebook.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (metadata,) = (archive.read(name).decode() for name in names if name.endswith("/METADATA"))
    modules = {f"quotebook/{path.name}" for path in (PACKAGE / "src" / "quotebook").iterdir() if path.is_file()}
    assert "quotebook/py.typed" in modules
    assert {name for name in names if name.startswith("quotebook/")} == modules
    for dependency in ("ecdsa", "pycryptodome", "websockets"):
        assert f"Requires-Dist: {dependency}" in metadata
    target = tmp_path / "target"
    subprocess.run([*pip, "install", *offline, "--target", str(target), str(wheel)], check=True)
    program = "import quotebook; print(quotebook.__file__, quotebook.Account('11' * 32).address)"
    printed = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": str(target)}, capture_output=True, check=True
    ).stdout.decode()
    assert printed == f"{target / 'quotebook' / '__init__.py'} 0x19e7e376e7c213b7e7e7e46cc70a5dd086daff2a\n"


def test_versions_agree() -> None:
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    assert project["version"] == quotebook.__version__


def programs_of(document: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", document.read_text(), re.MULTILINE | re.DOTALL)


def start(service: Service, program: str, path: Path, name: str) -> subprocess.Popen[str]:
    (path / name).write_text(program)
    (path / "ready.json").write_text((service.data / "ready.json").read_text())
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE / "src"), "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(
        [sys.executable, name, "ready.json"],
        cwd=path,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        # A shell has its background jobs ignore SIGINT, and what they start.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def next_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def test_the_programs_of_the_how_to_guide_run_as_they_are_printed(service: Service, tmp_path: Path) -> None:
    follow, offer = programs_of(HOW_TO)
    following = start(service, follow, tmp_path, "follow.py")
    try:
        assert re.match(r"live, \d+ quotes\n", next_line(following))
        offering = start(service, offer, tmp_path, "offer.py")
        printed, _ = offering.communicate(timeout=SOON)
        assert offering.returncode == 0
        quote_id = re.match(r"created (0x[0-9a-f]{64})\n", printed)
        assert quote_id is not None, printed
        assert re.fullmatch(rf"\d+ POST_QUOTE {quote_id[1]} .*\n", next_line(following))
        assert re.fullmatch(r"best ask 0\.08\d* for [\d.]+ contracts\n", next_line(following))
        following.send_signal(signal.SIGINT)
        following.wait(SOON)
    finally:
        following.kill()


def test_the_program_of_the_readme_runs_as_it_is_printed(service: Service, tmp_path: Path) -> None:
    (program,) = programs_of(PACKAGE / "README.md")
    process = start(service, program, tmp_path, "readme.py")
    printed, _ = process.communicate(timeout=SOON)
    assert process.returncode == 0, printed
    assert re.search(r"^POST_QUOTE 0x[0-9a-f]{64}$", printed, re.MULTILINE), printed
