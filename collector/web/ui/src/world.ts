// What every view needs to know: which vitals there are, which nodes, and what time it is at the collector.
import { ask } from './api';
import { setCollectorNow } from './clock';
import type { Node, StatusAnswer, Vital } from './messages';

export interface World {
  status: StatusAnswer;
  nodes: Node[];
  vitals: Vital[];
}

export async function askWorld(signal: AbortSignal): Promise<World> {
  const [status, nodes, vitals] = await Promise.all([
    ask('status', {}, signal), ask('nodes', {}, signal), ask('vitals', {}, signal)]);
  setCollectorNow(status.now_s);
  return { status, nodes: nodes.nodes, vitals: vitals.vitals };
}
