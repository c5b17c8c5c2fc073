// Scenes as bytes: see src/dalembert/view/web/bundle.py for the layout.

const MAGIC = "dalscene";
const KINDS = { float32: Float32Array, uint32: Uint32Array };

// The description again; arrays are typed arrays with a `shape`.
export function unpack(buffer) {
  const bytes = new Uint8Array(buffer);
  const text = new TextDecoder();
  if (text.decode(bytes.subarray(0, 8)) !== MAGIC) throw new Error("these bytes are no scene");
  const length = new DataView(buffer).getUint32(8, true);
  const start = 12 + length;
  return whole(JSON.parse(text.decode(bytes.subarray(12, start))), buffer, start);
}

function whole(value, buffer, start) {
  if (Array.isArray(value)) return value.map((each) => whole(each, buffer, start));
  if (value === null || typeof value !== "object") return value;
  if ("block" in value && "shape" in value) {
    const count = value.shape.reduce((a, b) => a * b, 1);
    const array = new KINDS[value.type](buffer, start + value.block, count);
    array.shape = value.shape;
    return array;
  }
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, whole(each, buffer, start)]));
}
