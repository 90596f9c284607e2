import { createRoot } from 'react-dom/client'
import { App } from './shell/App'
import { applyTheme } from './shell/theme'
import './styles/base.css'
import './styles/parts.css'
import './styles/search.css'
import './styles/trace.css'
import './styles/analysis.css'
import './styles/data.css'
import './styles/explain.css'
import './styles/paths.css'
import './styles/query.css'
import './styles/recordings.css'

applyTheme()
createRoot(document.getElementById('root')!).render(<App />)
