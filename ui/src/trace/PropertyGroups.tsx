import { useState } from 'react'
import type { Attributes } from '../api/types'
import { Dialog } from '../parts/Dialog'
import { AttributeTable } from './AttributeTable'
import { saveGroups, usePropertyGroups, type PropertyGroup } from './property_groups'

// The reader's own groups, on top of everything else a span carries.
export function PropertyGroups({ properties }: { properties: Attributes }) {
  const groups = usePropertyGroups()
  const [editing, setEditing] = useState<number | null>(null)
  return (
    <>
      {groups.map((group, i) => {
        const present = Object.fromEntries(group.keys.filter((k) => properties[k] !== undefined).map((k) => [k, properties[k]]))
        return (
          <section className="section property-group" key={i} aria-label={`Properties: ${group.name}`}>
            <h3>
              {group.name}
              <button type="button" className="link-button edit" onClick={() => setEditing(i)} aria-label={`Edit ${group.name}`}>edit</button>
            </h3>
            <AttributeTable attributes={present} empty="none on this span" searchable />
          </section>
        )
      })}
      <p className="section">
        <button type="button" className="link-button" onClick={() => setEditing(groups.length)}>Add a property group</button>
      </p>
      {editing !== null && (
        <GroupEditor
          group={groups[editing] ?? { name: '', keys: [] }}
          exists={editing < groups.length}
          properties={properties}
          onClose={() => setEditing(null)}
          onSave={(group) => {
            saveGroups(group ? [...groups.slice(0, editing), group, ...groups.slice(editing + 1)] : groups.filter((_, i) => i !== editing))
            setEditing(null)
          }}
        />
      )}
    </>
  )
}

const SHOWN = 300

function GroupEditor({ group, exists, properties, onClose, onSave }: { group: PropertyGroup; exists: boolean; properties: Attributes; onClose: () => void; onSave: (group: PropertyGroup | null) => void }) {
  const [name, setName] = useState(group.name)
  const [keys, setKeys] = useState(group.keys)
  const [find, setFind] = useState('')
  const all = [...new Set([...group.keys, ...Object.keys(properties)])]
  const shown = all.filter((k) => k.toLowerCase().includes(find.toLowerCase())).slice(0, SHOWN)
  const ready = name.trim() !== '' && keys.length > 0
  return (
    <Dialog title={exists ? `Property group ${group.name}` : 'New property group'} onClose={onClose}>
      <form
        className="group-editor"
        onSubmit={(event) => {
          event.preventDefault()
          if (ready) onSave({ name: name.trim(), keys })
        }}
      >
        <label>Name <input autoFocus type="text" value={name} maxLength={60} onChange={(event) => setName(event.target.value)} /></label>
        <label>Find a property <input type="search" value={find} onChange={(event) => setFind(event.target.value)} /></label>
        <ul className="group-keys" aria-label="Properties">
          {shown.map((key) => (
            <li key={key}>
              <label>
                <input type="checkbox" checked={keys.includes(key)} onChange={(event) => setKeys(event.target.checked ? [...keys, key] : keys.filter((k) => k !== key))} />{' '}
                <span className="mono">{key}</span>
                {properties[key] === undefined && <span className="muted"> not on this span</span>}
              </label>
            </li>
          ))}
        </ul>
        {shown.length === 0 && <p className="muted">This span carries nothing {find ? 'by that name' : 'to choose from'}.</p>}
        <p className="muted small">Shown on top for every span that has them, in the order chosen; kept in this browser.</p>
        <div className="row">
          <button type="submit" className="button primary" disabled={!ready}>Save</button>
          {exists && <button type="button" className="button" onClick={() => onSave(null)}>Delete the group</button>}
        </div>
      </form>
    </Dialog>
  )
}
