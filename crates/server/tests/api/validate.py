"""Holds answers against an OpenAPI document: reads {"document": …, "answers": […]} from standard input, and writes one
line for each answer, or part of one, that its schema does not allow."""

import json
import sys

import jsonschema_rs

given = json.load(sys.stdin)
document = given["document"]
for answer in given["answers"]:
    name = f'{answer["method"]} {answer["path"]} {answer["status"]}'
    operation = document["paths"].get(answer["path"], {}).get(answer["method"].lower())
    if operation is None:
        print(f"{name}: the document has no such operation")
        continue
    response = operation["responses"].get(str(answer["status"]))
    if response is None:
        print(f"{name}: the document has no such status")
        continue
    content = response.get("content", {}).get(answer["content_type"])
    if content is None:
        print(f'{name}: the document has no {answer["content_type"]}')
        continue
    schema = {**content["schema"], "components": document["components"]}
    for error in jsonschema_rs.Draft202012Validator(schema).iter_errors(answer["body"]):
        print(f"{name}: {error.message} at {list(error.instance_path)}")
