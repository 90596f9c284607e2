import { Icon } from '../parts/Icon'
import { Command, EmptyState } from '../parts/states'
import { setParams } from '../shell/router'
import { openFileChooser } from '../upload/Upload'

// The empty state: how to get messages.
export function NoMessages({ all }: { all: boolean }) {
  return (
    <EmptyState title={all ? 'No messages stored yet.' : 'No messages in this time range.'}>
      <p>Paths are inferred from the sender, receiver and time of each message, without instrumentation. Messages come from a packet capture, from watching this host, from mail headers, or as text.</p>
      <ul className="ways">
        <li><span>A packet capture (pcap, pcapng), an mbox or message text:</span><Command text="wherefore import capture.pcap" /></li>
        <li><span>Messages between the processes of this host, for one minute:</span><Command text="wherefore watch --for 1m --out watched.txt && wherefore import watched.txt" /></li>
        <li><span>Generated messages, to try it out:</span><Command text="wherefore generate config/generate/multi-tier.yaml --seed 1 --out made.txt --truth truth.jsonl && wherefore import made.txt" /></li>
      </ul>
      <div className="row">
        <button type="button" className="button primary" onClick={openFileChooser}><Icon name="upload" size={14} /> Upload messages</button>
        {!all && <button type="button" className="button" onClick={() => setParams({ since: null, until: null, normal: null }, 'push')}>All time</button>}
      </div>
    </EmptyState>
  )
}
