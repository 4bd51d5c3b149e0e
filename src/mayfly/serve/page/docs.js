// Shows /openapi.json. Everything is put in as text, never as HTML.
"use strict";

const METHODS = ["get", "post", "put", "patch", "delete"];

function element(name, text, ...children) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  made.append(...children.filter(Boolean));
  return made;
}

function resolved(api, schema) {
  const path = schema && schema.$ref ? schema.$ref.slice(2).split("/") : null;
  return path ? path.reduce((at, key) => at[key], api) : schema || {};
}

function kind(api, schema, depth = 0) {
  if (!schema) return "";
  if (schema.$ref && depth > 3) return schema.$ref.split("/").pop();
  const of = resolved(api, schema);
  if (of.const !== undefined) return JSON.stringify(of.const);
  if (of.enum) return of.enum.map((one) => JSON.stringify(one)).join(" | ");
  const choices = of.anyOf || of.oneOf || of.allOf;
  if (choices) return choices.map((one) => kind(api, one, depth)).join(" | ");
  if (of.type === "array") return "[" + kind(api, of.items, depth + 1) + ", …]";
  if (of.properties) {
    const pad = "  ".repeat(depth + 1);
    const needed = new Set(of.required || []);
    const lines = Object.entries(of.properties).map(([name, one]) => {
      const said = one.description ? "  // " + one.description : "";
      return pad + name + (needed.has(name) ? "" : "?") + ": " + kind(api, one, depth + 1) + said;
    });
    return "{\n" + lines.join("\n") + "\n" + "  ".repeat(depth) + "}";
  }
  return [].concat(of.type || "anything").join(" | ");
}

function table(heads, rows) {
  if (!rows.length) return null;
  const line = (cell, texts) => element("tr", "", ...texts.map((text) => element(cell, text)));
  return element("table", "", line("th", heads), ...rows.map((row) => line("td", row)));
}

function bodies(api, content) {
  return Object.entries(content || {}).flatMap(([type, one]) => [
    element("p", "", element("code", type)),
    reachable(element("pre", kind(api, one.schema))),
  ]);
}

// What is too wide can be scrolled with keys, too.
function reachable(made) {
  made.tabIndex = 0;
  return made;
}

function operation(api, path, method, said) {
  const id = method + path;
  const title = element("h2", "", element("span", method.toUpperCase() + " "), document.createTextNode(path));
  title.firstChild.className = "method";
  const asked = (said.parameters || []).map((one) => [
    one.name + (one.required ? " (needed)" : ""), one.in, kind(api, one.schema), one.description || (one.schema || {}).description || "",
  ]);
  const refusals = Object.entries(said.responses).filter(([status]) => status >= "400");
  const answers = Object.entries(said.responses).filter(([status]) => status < "400");
  const made = element("section", "", title, element("p", said.description || said.summary),
    table(["parameter", "in", "kind", ""], asked));
  if (said.requestBody) {
    made.append(element("h3", "Body"), element("p", said.requestBody.description || ""),
      ...bodies(api, said.requestBody.content));
  }
  for (const [status, one] of answers) {
    made.append(element("h3", "Answers " + status), ...bodies(api, one.content));
  }
  made.append(...[table(["or", ""], refusals.map(([status, one]) => [status, one.description]))].filter(Boolean));
  made.id = id;
  const link = element("a", method.toUpperCase() + " " + path);
  link.href = "#" + encodeURIComponent(id);
  return [made, element("li", "", link)];
}

async function show() {
  const api = await (await fetch("/openapi.json")).json();
  document.getElementById("version").textContent = api.info.version;
  document.getElementById("about").textContent = api.info.description;
  const list = element("ul", "");
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const method of METHODS.filter((one) => methods[one])) {
      const [made, item] = operation(api, path, method, methods[method]);
      document.getElementById("operations").append(made);
      list.append(item);
    }
  }
  document.getElementById("list").append(list);
}

show().catch((error) => {
  document.getElementById("operations").append(element("p", "openapi.json cannot be read: " + error));
});
