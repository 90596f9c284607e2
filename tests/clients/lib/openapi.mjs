// api/openapi.yaml as something to check answers with: schemas by path, method, status and content type.
//
// The file leaves objects open, because keys may be added; a test must see a key that nobody wrote down. So here every
// object that lists its properties has no others.
import Ajv from 'ajv';
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

const METHODS = ['get', 'post', 'put', 'delete', 'patch'];

// OpenAPI 3.0's dialect → JSON Schema: nullable becomes a type, references point into one document.
function toJsonSchema(node, insideAllOf = false) {
  if (Array.isArray(node)) return node.map((entry) => toJsonSchema(entry));
  if (node === null || typeof node !== 'object') return node;
  if (node.$ref) return { $ref: node.$ref.replace('#/components/schemas/', '#/definitions/') };
  const out = {};
  for (const [key, value] of Object.entries(node)) {
    if (key === 'nullable' || key === 'example' || key === 'description') continue;
    if (key === 'properties') {
      out.properties = Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, toJsonSchema(schema)]));
    } else if (key === 'allOf') {
      out.allOf = value.map((part) => toJsonSchema(part, true));
    } else if (key === 'enum' || key === 'required') {
      out[key] = value;
    } else {
      out[key] = toJsonSchema(value);
    }
  }
  if (node.nullable && node.type) out.type = [node.type, 'null'];
  if (node.properties && node.additionalProperties === undefined && !insideAllOf) out.additionalProperties = false;
  return out;
}

export class OpenApi {
  constructor(file) {
    this.document = parse(readFileSync(file, 'utf8'));
    this.ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
    const schemas = this.document.components.schemas;
    this.definitions = Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, toJsonSchema(schema)]));
  }

  resolve(node) {
    if (!node?.$ref) return node;
    const found = node.$ref.replace('#/', '').split('/').reduce((at, part) => at?.[part], this.document);
    if (found === undefined) throw new Error(`${node.$ref} is not in the file`);
    return this.resolve(found);
  }

  // [{path, method, operation}]
  operations() {
    return Object.entries(this.document.paths).flatMap(([path, item]) =>
      METHODS.filter((method) => item[method]).map((method) => ({ path, method: method.toUpperCase(), operation: item[method] })));
  }

  // The schema for an answer; throws when the file does not foresee its status or content type.
  schemaFor(path, method, status, contentType) {
    const { responses } = this.document.paths[path][method.toLowerCase()];
    const response = this.resolve(responses[String(status)] ?? responses.default);
    if (!response) throw new Error(`${method} ${path}: status ${status} is not in the file`);
    const type = contentType.split(';')[0].trim();
    const content = response.content?.[type];
    if (!content) throw new Error(`${method} ${path}: ${status} as "${type}" is not in the file`);
    return content.schema;
  }

  // Throws with every place where the body does not follow the schema.
  validate(schema, body) {
    const validator = this.ajv.compile({ ...toJsonSchema(schema), definitions: this.definitions });
    if (validator(body)) return;
    const places = validator.errors.slice(0, 20).map((e) => `${e.instancePath || '/'} ${e.message} ${JSON.stringify(e.params)}`);
    throw new Error(`the body does not follow the schema:\n${places.join('\n')}`);
  }

  // Every reference in the file, wherever it stands.
  references() {
    const found = [];
    const walk = (node) => {
      if (node === null || typeof node !== 'object') return;
      if (typeof node.$ref === 'string') found.push(node.$ref);
      Object.values(node).forEach(walk);
    };
    walk(this.document);
    return found;
  }
}
