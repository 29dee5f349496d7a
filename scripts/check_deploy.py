"""Checks the files in deploy/ for what can be checked without Docker: syntax, names that refer to each other, and
variables that Onrush knows. Checks besides that all files name the same Rust, and that CI's files are YAML.
Usage: target/python/bin/python scripts/check_deploy.py"""

import pathlib
import re
import sys
import tomllib

import yaml

TOP = pathlib.Path(__file__).resolve().parent.parent
INSTRUCTIONS = {
    "ADD", "ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "HEALTHCHECK", "LABEL", "RUN", "SHELL",
    "STOPSIGNAL", "USER", "VOLUME", "WORKDIR",
}


def uncommented(template):
    """The template with everything set that is commented out."""
    lines = [line[2:] if re.match(r"# (\[|\w+ = )", line) else line for line in template.splitlines()]
    return "\n".join(lines)


def settings(table, before=""):
    """The names of all variables, without what they all begin with."""
    for key, value in table.items():
        name = before + key.upper()
        if isinstance(value, dict):
            yield from settings(value, f"{name}__")
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            yield from settings(value[0], f"{name}__0__")
        else:
            yield from (name, f"{name}_FILE")


def complaints_about_compose(text, known):
    compose = yaml.safe_load(text)
    services, volumes = compose["services"], compose.get("volumes", {})
    for name, service in services.items():
        if not {"image", "build"} & service.keys():
            yield f"{name}: needs an image or a build"
        for other in service.get("depends_on", {}):
            if other not in services:
                yield f"{name}: depends on {other}, which is no service"
        for mount in service.get("volumes", []):
            volume = mount.split(":")[0]
            if not volume.startswith((".", "/")) and volume not in volumes:
                yield f"{name}: mounts {volume}, which is no volume"
        for variable in service.get("environment", {}):
            if variable.startswith("ONRUSH_") and variable.removeprefix("ONRUSH_") not in known:
                yield f"{name}: {variable} is no setting"
        if "build" in service:
            dockerfile = (TOP / "deploy" / service["build"]["context"] / service["build"]["dockerfile"]).resolve()
            if not dockerfile.is_file():
                yield f"{name}: there is no {dockerfile}"


def complaints_about_dockerfile(text):
    stages, lines = set(), re.sub(r"\\\n", " ", text).splitlines()
    instructions = [line.split(None, 1) for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if instructions[0][0] != "FROM":
        yield "Dockerfile: begins with FROM"
    for word, *rest in instructions:
        if word not in INSTRUCTIONS:
            yield f"Dockerfile: {word} is no instruction"
        if word == "FROM" and (stage := re.search(r" AS (\S+)$", rest[0])):
            stages.add(stage[1])
        if word == "COPY" and (source := re.search(r"--from=(\S+)", rest[0])) and source[1] not in stages:
            yield f"Dockerfile: copies from {source[1]}, which is no stage"


RUST = {
    "Cargo.toml": r'^rust-version = "([\d.]+)"',
    "scripts/need.sh": r"^rust_at_least=([\d.]+)$",
    "deploy/Dockerfile": r"^FROM rust:([\d.]+)-",
    ".github/workflows/ci.yml": r"^ *image: rust:([\d.]+)-",
    ".devcontainer/devcontainer.json": r'^ *"image": "rust:([\d.]+)-',
}


def complaints_about_rust():
    channel = re.search(r'^channel = "([\d.]+)"', (TOP / "rust-toolchain.toml").read_text(), re.M)[1]
    for file, pattern in RUST.items():
        named = re.search(pattern, (TOP / file).read_text(), re.M)
        if not named:
            yield f"{file}: names no Rust"
        elif not f"{channel}.".startswith(f"{named[1]}."):
            yield f"{file}: names Rust {named[1]}, and rust-toolchain.toml {channel}"


def complaints_about_github():
    for file in sorted((TOP / ".github").rglob("*.yml")):
        try:
            yaml.safe_load(file.read_text())
        except yaml.YAMLError as error:
            yield f"{file.relative_to(TOP)}: {error}"


def main():
    template = (TOP / "crates/base/src/config/template.toml").read_text()
    known = set(settings(tomllib.loads(uncommented(template))))
    found = [
        *complaints_about_compose((TOP / "deploy/compose.yaml").read_text(), known),
        *complaints_about_dockerfile((TOP / "deploy/Dockerfile").read_text()),
        *complaints_about_rust(),
        *complaints_about_github(),
    ]
    for complaint in found:
        print(complaint, file=sys.stderr)
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
