// The one answer that is read as binary protobuf: series, whose columns are packed doubles. Fields are those of
// SeriesAnswer and Series in proto/telltale/v1/query.proto; unknown ones are skipped.
import type { Series, SeriesAnswer } from './messages';

const kVarint = 0;
const kFixed64 = 1;
const kBytes = 2;
const kFixed32 = 5;

class Reader {
  private readonly view: DataView;
  private at = 0;

  constructor(private readonly bytes: Uint8Array) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  done(): boolean {
    return this.at >= this.bytes.length;
  }

  varint(): number {
    let value = 0;
    for (let shift = 1; ; shift *= 128) {
      const byte = this.view.getUint8(this.at++);
      value += (byte & 127) * shift;
      if (byte < 128) return value;
    }
  }

  block(): Uint8Array {
    const length = this.varint();
    if (this.at + length > this.bytes.length) throw new Error('answer: series cut off');
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  skip(type: number): void {
    if (type === kVarint) this.varint();
    else if (type === kFixed64) this.at += 8;
    else if (type === kBytes) this.block();
    else if (type === kFixed32) this.at += 4;
    else throw new Error(`answer: series with wire type ${type}`);
  }
}

// A copy, because the bytes of an answer are not aligned.
function doubles(block: Uint8Array): Float64Array {
  const copy = block.slice();
  return new Float64Array(copy.buffer, 0, copy.length >> 3);
}

function readSeries(bytes: Uint8Array): Series {
  const text = new TextDecoder();
  const none = new Float64Array(0);
  const series: Series = {
    vital: '', sub: '', node: '', unit: '', start_s: none, length_s: none, rate: none, watched: none,
    backlog: none, low: none, high: none,
  };
  for (const reader = new Reader(bytes); !reader.done();) {
    const tag = reader.varint();
    if ((tag & 7) !== kBytes) {
      reader.skip(tag & 7);
      continue;
    }
    const block = reader.block();
    switch (tag >> 3) {
      case 1: series.vital = text.decode(block); break;
      case 2: series.sub = text.decode(block); break;
      case 3: series.node = text.decode(block); break;
      case 4: series.unit = text.decode(block); break;
      case 5: series.start_s = doubles(block); break;
      case 6: series.length_s = doubles(block); break;
      case 7: series.rate = doubles(block); break;
      case 11: series.watched = doubles(block); break;
      case 12: series.backlog = doubles(block); break;
      case 14: series.low = doubles(block); break;
      case 15: series.high = doubles(block); break;
    }
  }
  return series;
}

export function readSeriesAnswer(bytes: Uint8Array): SeriesAnswer {
  const series: Series[] = [];
  for (const reader = new Reader(bytes); !reader.done();) {
    const tag = reader.varint();
    if (tag === (1 << 3 | kBytes)) series.push(readSeries(reader.block()));
    else reader.skip(tag & 7);
  }
  return { series };
}
