import { useState } from 'react'
import type { Attributes } from '../api/types'
import { Dialog } from '../parts/Dialog'
import { AttributeTable } from './AttributeTable'
import { saveGroups, usePropertyGroups, type PropertyGroup } from './property_groups'

// Property groups, shown above the other properties of a span.
export function PropertyGroups({ properties }: { properties: Attributes }) {
  const groups = usePropertyGroups()
  // The group being edited, by name because others may change the list. '': a new group.
  const [editing, setEditing] = useState<string | null>(null)
  const edited = groups.find((g) => g.name === editing)
  return (
    <>
      {groups.map((group, i) => {
        const present = Object.fromEntries(group.keys.filter((k) => properties[k] !== undefined).map((k) => [k, properties[k]]))
        return (
          <section className="section property-group" key={i} aria-label={`Properties: ${group.name}`}>
            <h3>
              {group.name}
              <button type="button" className="link-button edit" onClick={() => setEditing(group.name)} aria-label={`Edit ${group.name}`}>edit</button>
            </h3>
            <AttributeTable attributes={present} empty="none on this span" searchable />
          </section>
        )
      })}
      <p className="section">
        <button type="button" className="link-button" onClick={() => setEditing('')}>Add a property group</button>
      </p>
      {editing !== null && (
        <GroupEditor
          group={edited ?? { name: '', keys: [] }}
          exists={edited !== undefined}
          taken={groups.filter((g) => g !== edited).map((g) => g.name)}
          properties={properties}
          onClose={() => setEditing(null)}
          onSave={async (group) => {
            const fault = await saveGroups(
              !group ? groups.filter((g) => g !== edited) : edited ? groups.map((g) => (g === edited ? group : g)) : [...groups, group],
            )
            if (fault === null) setEditing(null)
            return fault
          }}
        />
      )}
    </>
  )
}

const SHOWN = 300

interface EditorProps {
  group: PropertyGroup
  exists: boolean
  taken: string[] // names of the other groups
  properties: Attributes
  onClose: () => void
  onSave: (group: PropertyGroup | null) => Promise<string | null> // an error message, or null
}

function GroupEditor({ group, exists, taken, properties, onClose, onSave }: EditorProps) {
  const [fault, setFault] = useState<string | null>(null)
  const save = async (next: PropertyGroup | null) => setFault(await onSave(next))
  const [name, setName] = useState(group.name)
  const [keys, setKeys] = useState(group.keys)
  const [find, setFind] = useState('')
  const all = [...new Set([...group.keys, ...Object.keys(properties)])]
  const shown = all.filter((k) => k.toLowerCase().includes(find.toLowerCase())).slice(0, SHOWN)
  const isDuplicate = taken.includes(name.trim())
  const ready = name.trim() !== '' && keys.length > 0 && !isDuplicate
  return (
    <Dialog title={exists ? `Property group ${group.name}` : 'New property group'} onClose={onClose}>
      <form
        className="group-editor"
        onSubmit={(event) => {
          event.preventDefault()
          if (ready) void save({ name: name.trim(), keys })
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
        {shown.length === 0 && <p className="muted">This span has no {find ? 'matching properties' : 'properties'}.</p>}
        <p className="muted small">Shown first for every span that has them, to everyone who uses this server.</p>
        {isDuplicate && <p className="bad" role="alert">▲ A group with this name exists.</p>}
        {fault && <p className="bad" role="alert">▲ {fault}</p>}
        <div className="row">
          <button type="submit" className="button primary" disabled={!ready}>Save</button>
          {exists && <button type="button" className="button" onClick={() => void save(null)}>Delete the group</button>}
        </div>
      </form>
    </Dialog>
  )
}
