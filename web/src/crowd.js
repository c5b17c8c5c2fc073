// Many copies of one shape by few calls: each as fine as it is large on the page, none of those that are beside it.

import {
  Color, DoubleSide, EdgesGeometry, FrontSide, Frustum, GreaterDepth, LineBasicMaterial, LineSegments, Matrix4, Mesh, MeshBasicMaterial, Sphere,
  Vector3,
} from "three";
import { Copies, Heap } from "./copies.js";

const SMALL = [36, 15, 5]; // pixels of radius below which a coarser level is good enough
const EDGED = 7; // below which edges are left out
const EDGE = 0.35; // opacity
const SHINE = 0.55; // opacity of what is seen through bodies
const SLIM = 3; // how much more is asked of what is slim

// What a camera sees, and how large.
export class Sight {
  constructor() {
    this.frustum = new Frustum();
    this.matrix = new Matrix4();
    this.sphere = new Sphere();
  }

  // coarse: what moves is drawn by a processor; size: how many times as large things may be that get few triangles
  look(camera, height, { coarse, size }) {
    this.coarse = coarse;
    this.small = SMALL.map((each) => size * each);
    camera.updateMatrixWorld();
    this.frustum.setFromProjectionMatrix(this.matrix.multiplyMatrices(camera.projectionMatrix, camera.matrixWorldInverse));
    this.camera = camera;
    this.scale = (camera.projectionMatrix.elements[5] * height) / 2; // pixels a metre, at a distance of one where it counts
    return this;
  }

  // radius in pixels of a ball in the world; 0 if it is not seen
  size(center, radius) {
    this.sphere.center.copy(center);
    this.sphere.radius = radius;
    if (!this.frustum.intersectsSphere(this.sphere)) return 0;
    if (this.camera.isOrthographicCamera) return radius * this.scale;
    return (radius * this.scale) / Math.max(center.distanceTo(this.camera.position), 1e-12);
  }
}

export class Crowd {
  // levels: geometries from fine to coarse; items: what each copy shows, with a colour
  // edges: lines drawn with it; slim: stretched along z, and as fine as it is wide; software: a processor draws
  // shines: is seen faintly through what is before it, where there is time
  constructor(group, levels, material, items, { edges = null, slim = false, software = false, shines = false } = {}) {
    Object.assign(this, { items, levels, material, edges, slim, visible: true });
    this.matrices = items.map(() => new Matrix4());
    this.hidden = new Uint8Array(items.length);
    this.colors = items.map(({ color }) => new Color(color));
    levels[0].computeBoundingSphere();
    this.ball = levels[0].boundingSphere;
    levels[0].computeBoundingBox();
    const { min, max } = levels[0].boundingBox;
    this.corners = [min.x, max.x].flatMap((x) => [min.y, max.y].flatMap((y) => [min.z, max.z].map((z) => new Vector3(x, y, z))));
    this.edging = new LineBasicMaterial({ color: "#000000", transparent: true, opacity: EDGE });
    const Drawn = software ? Heap : Copies;
    if (software) material.vertexColors = true;
    this.faces = new Drawn(Mesh, material, levels, items.length);
    this.lines = edges ? new Drawn(LineSegments, this.edging, [edges], items.length) : null;
    this.shine = shines ? this.faces.again(shining(material)) : null;
    if (shines) group.add(...this.shine.objects);
    group.add(...this.faces.objects, ...(this.lines?.objects ?? []));
  }

  place(k, matrix) {
    this.matrices[k].copy(matrix);
  }

  fade(share) {
    this.edging.opacity = EDGE * share;
  }

  // draw each copy that a camera sees at the level that it needs
  draw(sight) {
    const faces = [];
    const lines = [];
    const [center, width] = [new Vector3(), new Vector3()];
    for (let k = 0; this.visible && k < this.items.length; k += 1) {
      if (this.hidden[k]) continue;
      const matrix = this.matrices[k];
      const radius = this.ball.radius * matrix.getMaxScaleOnAxis();
      const size = sight.size(center.copy(this.ball.center).applyMatrix4(matrix), radius);
      if (size === 0) continue;
      const broad = this.slim ? (SLIM * size * width.setFromMatrixColumn(matrix, 0).length()) / radius : size;
      const level = Math.min(sight.small.filter((each) => broad < each).length, this.levels.length - 1);
      faces.push({ geometry: this.levels[level], matrix, color: this.colors[k] });
      if (this.edges && size > EDGED) lines.push({ geometry: this.edges, matrix });
    }
    this.faces.draw(faces);
    this.shine?.follow(!sight.coarse);
    this.lines?.draw(lines);
  }

  // the items that a ray meets, with the points where it does
  *met(ray) {
    const hits = [];
    for (let k = 0; this.visible && k < this.items.length; k += 1) {
      if (this.hidden[k]) continue;
      probe.geometry = this.levels[0];
      probe.matrixWorld.copy(this.matrices[k]);
      hits.length = 0;
      probe.raycast(ray, hits);
      for (const { point, distance } of hits) yield { point, distance, item: this.items[k] };
    }
  }
}

// only where something nearer has been drawn
function shining(material) {
  const own = { transparent: true, opacity: SHINE, depthFunc: GreaterDepth, depthWrite: false, side: FrontSide };
  const made = Object.assign(material.clone(), own);
  made.emissive.set("#585858"); // lighter than what it is in
  return made;
}

const probe = new Mesh(undefined, new MeshBasicMaterial({ side: DoubleSide }));

// edges of a mesh that are sharper than thirty degrees
export function edgesOf(geometry) {
  const edges = new EdgesGeometry(geometry, 30);
  return edges.getAttribute("position").count ? edges : null;
}
