// Many copies of few geometries, drawn together: by instances, or as one geometry.

import { BufferAttribute, BufferGeometry, Color, DynamicDrawUsage, InstancedBufferAttribute } from "three";

const WHITE = new Color("#ffffff");

// What is drawn once more, with another material.
class Again {
  constructor(objects, material) {
    this.pairs = objects.map((object) => {
      const { instanceMatrix, instanceColor, isInstancedMesh } = object;
      const twin = Object.assign(new object.constructor(object.geometry, material), { frustumCulled: false });
      if (isInstancedMesh) Object.assign(twin, { isInstancedMesh, instanceMatrix, instanceColor, morphTexture: null, count: 0 });
      return [object, twin];
    });
    this.objects = this.pairs.map(([, twin]) => twin);
  }

  // as many as there are, or none
  follow(on) {
    for (const [object, twin] of this.pairs) {
      twin.visible = on && object.visible;
      if (twin.isInstancedMesh) twin.count = object.count;
    }
  }
}

// A graphics processor repeats a geometry by itself.
export class Copies {
  constructor(Kind, material, geometries, most) {
    this.of = new Map(geometries.map((geometry) => [geometry, instanced(Kind, geometry, material, most)]));
    this.objects = [...this.of.values()];
  }

  again(material) {
    return new Again(this.objects, material);
  }

  // copies: { geometry, matrix, color }
  draw(copies) {
    for (const object of this.objects) object.count = 0;
    for (const { geometry, matrix, color } of copies) {
      const object = this.of.get(geometry);
      matrix.toArray(object.instanceMatrix.array, 16 * object.count);
      (color ?? WHITE).toArray(object.instanceColor.array, 3 * object.count);
      object.count += 1;
    }
    for (const object of this.objects) {
      object.visible = object.count > 0;
      object.instanceMatrix.needsUpdate = true;
      object.instanceColor.needsUpdate = true;
    }
  }
}

// three.js draws anything by instances that says it has some, lines too
function instanced(Kind, geometry, material, most) {
  const numbers = (size) => new InstancedBufferAttribute(new Float32Array(size * most), size).setUsage(DynamicDrawUsage);
  const object = new Kind(geometry, material);
  const own = { isInstancedMesh: true, instanceMatrix: numbers(16), instanceColor: numbers(3), morphTexture: null, count: 0 };
  return Object.assign(object, own, { frustumCulled: false });
}

// Where a processor draws, each repetition costs as much as a mesh of its own, and a hundred corners moved here cost
// less than that: all copies are written into one geometry, frame by frame.
export class Heap {
  constructor(Kind, material) {
    this.geometry = new BufferGeometry();
    this.object = new Kind(this.geometry, material);
    this.object.frustumCulled = false;
    this.object.matrixAutoUpdate = false;
    this.objects = [this.object];
    this.room = { corners: 0, indices: 0 };
    this.last = [];
    this.places = new Float64Array(0); // of the copies, matrix by matrix
  }

  again(material) {
    return new Again(this.objects, material);
  }

  // copies: { geometry, matrix, color }
  draw(copies) {
    let corners = 0;
    let indices = 0;
    for (const { geometry } of copies) {
      corners += geometry.getAttribute("position").count;
      indices += geometry.index?.count ?? geometry.getAttribute("position").count;
    }
    this.object.visible = indices > 0;
    if (!indices) return;
    const same = copies.length === this.last.length && copies.every(({ geometry, color }, k) => geometry === this.last[k].geometry && color === this.last[k].color);
    const stays = this.#fits(corners, indices) && same;
    if (!stays) this.#order(copies);
    this.last = copies;
    if (this.#moved(copies) || !stays) this.#move(copies);
    this.geometry.setDrawRange(0, indices);
  }

  // take note of where copies are; return whether any has moved
  #moved(copies) {
    let moved = this.places.length !== 16 * copies.length;
    if (moved) this.places = new Float64Array(16 * copies.length);
    copies.forEach(({ matrix: { elements } }, k) => {
      for (let i = 0; i < 16; i += 1) {
        if (this.places[16 * k + i] === elements[i]) continue;
        moved = true;
        this.places[16 * k + i] = elements[i];
      }
    });
    return moved;
  }

  #fits(corners, indices) {
    if (corners <= this.room.corners && indices <= this.room.indices) return true;
    this.room = { corners: Math.ceil(1.5 * corners), indices: Math.ceil(1.5 * indices) };
    this.geometry.dispose();
    for (const [name, kind] of [["position", Float32Array], ["normal", Float32Array], ["color", Float32Array]]) {
      this.geometry.setAttribute(name, new BufferAttribute(new kind(3 * this.room.corners), 3).setUsage(DynamicDrawUsage));
    }
    this.geometry.setIndex(new BufferAttribute(new Uint32Array(this.room.indices), 1).setUsage(DynamicDrawUsage));
    return false;
  }

  // which corners make which triangles, and their colours
  #order(copies) {
    const { index } = this.geometry;
    const colors = this.geometry.getAttribute("color");
    let corner = 0;
    let place = 0;
    for (const { geometry, color } of copies) {
      const { count } = geometry.getAttribute("position");
      const order = geometry.index?.array;
      const many = order ? order.length : count;
      for (let i = 0; i < many; i += 1) index.array[place + i] = corner + (order ? order[i] : i);
      for (let i = 0; color && i < count; i += 1) color.toArray(colors.array, 3 * (corner + i));
      corner += count;
      place += many;
    }
    index.needsUpdate = true;
    colors.needsUpdate = true;
  }

  #move(copies) {
    const position = this.geometry.getAttribute("position");
    const normal = this.geometry.getAttribute("normal");
    let out = 0;
    for (const { geometry, matrix } of copies) {
      const from = geometry.getAttribute("position").array;
      const side = geometry.getAttribute("normal")?.array;
      const m = matrix.elements;
      const to = position.array;
      const [a, b, c] = [0, 4, 8].map((k) => 1 / Math.max(m[k] ** 2 + m[k + 1] ** 2 + m[k + 2] ** 2, 1e-300));
      for (let i = 0; i < from.length; i += 3) {
        const [x, y, z] = [from[i], from[i + 1], from[i + 2]];
        to[out + i] = m[0] * x + m[4] * y + m[8] * z + m[12];
        to[out + i + 1] = m[1] * x + m[5] * y + m[9] * z + m[13];
        to[out + i + 2] = m[2] * x + m[6] * y + m[10] * z + m[14];
        if (side) {
          const [u, v, w] = [a * side[i], b * side[i + 1], c * side[i + 2]];
          normal.array[out + i] = m[0] * u + m[4] * v + m[8] * w;
          normal.array[out + i + 1] = m[1] * u + m[5] * v + m[9] * w;
          normal.array[out + i + 2] = m[2] * u + m[6] * v + m[10] * w;
        }
      }
      out += from.length;
    }
    position.needsUpdate = true;
    normal.needsUpdate = true;
  }
}
