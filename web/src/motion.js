// Where all frames are at a time: positions on straight lines, attitudes on shortest arcs between stored ones.

import { Matrix4, Quaternion, Vector3 } from "three";

const ONE = new Vector3(1, 1, 1);

export class Motion {
  constructor(motion, bodies, modes) {
    this.bodies = bodies;
    this.modes = modes;
    this.times = motion.times;
    this.poses = motion.poses;
    this.eta = motion.eta;
    this.field = motion.field?.values;
    this.start = this.times[0];
    this.end = this.times[this.times.length - 1];
  }

  // number of the last row at or before a time, and how far it is to the next
  locate(time) {
    const { times } = this;
    let low = 0;
    let high = times.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (times[middle] <= time) low = middle;
      else high = middle - 1;
    }
    const next = Math.min(low + 1, times.length - 1);
    const span = times[next] - times[low];
    return [low, next, span > 0 ? Math.min(1, Math.max(0, (time - times[low]) / span)) : 0];
  }

  // value of a column (n) at a time
  value(column, time) {
    const [a, b, share] = this.locate(time);
    return column[a] + share * (column[b] - column[a]);
  }
}

// The frames of one configuration: matrices of ground and bodies, and modal coordinates.
export class Frames {
  constructor(bodies, modes, nodes = 0) {
    this.field = new Float32Array(nodes); // what colours the nodes of flexible bodies
    this.matrices = Array.from({ length: bodies + 1 }, () => new Matrix4());
    this.eta = new Float32Array(modes);
    this.position = new Vector3();
    this.turn = new Quaternion();
    this.other = new Quaternion();
  }

  at(motion, time) {
    const [a, b, share] = motion.locate(time);
    this.between(motion.poses, motion.eta, a, b, share);
    const nodes = this.field.length;
    for (let k = 0; motion.field && k < nodes; k += 1) {
      this.field[k] = motion.field[a * nodes + k] + share * (motion.field[b * nodes + k] - motion.field[a * nodes + k]);
    }
  }

  between(poses, eta, a, b, share) {
    const bodies = this.matrices.length - 1;
    const mix = (x, y) => x + share * (y - x);
    for (let k = 0; k < bodies; k += 1) {
      const i = 7 * (a * bodies + k);
      const j = 7 * (b * bodies + k);
      this.position.set(mix(poses[i], poses[j]), mix(poses[i + 1], poses[j + 1]), mix(poses[i + 2], poses[j + 2]));
      this.turn.set(poses[i + 3], poses[i + 4], poses[i + 5], poses[i + 6]);
      if (share > 0) this.turn.slerp(this.other.set(poses[j + 3], poses[j + 4], poses[j + 5], poses[j + 6]), share);
      this.matrices[k + 1].compose(this.position, this.turn, ONE);
    }
    const modes = this.eta.length;
    for (let k = 0; k < modes; k += 1) this.eta[k] = mix(eta[a * modes + k], eta[b * modes + k]);
  }

  // a place of the document in the world
  point(place, out) {
    if (place.middle) {
      const sum = new Vector3();
      for (const each of place.middle) sum.add(this.point(each, out));
      return out.copy(sum.divideScalar(place.middle.length));
    }
    out.set(place.at[0], place.at[1], place.at[2]);
    if (place.shifts) {
      for (let k = 0; k < place.shifts.shape[0]; k += 1) {
        const eta = this.eta[place.eta + k];
        out.x += eta * place.shifts[3 * k];
        out.y += eta * place.shifts[3 * k + 1];
        out.z += eta * place.shifts[3 * k + 2];
      }
    }
    return out.applyMatrix4(this.matrices[place.frame]);
  }
}
