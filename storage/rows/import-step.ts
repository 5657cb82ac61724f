// The last step of the imports of principals, and what came of it.
import { defineEntity, p } from '@mikro-orm/postgresql'

const importStep = defineEntity({
  name: 'ImportStep',
  tableName: 'import_step',
  properties: {
    /** Which principals: of each kind one import runs at a time. */
    kind: p.string().length(20).primary(),
    /** The activity of the run that did it. */
    step: p.string().length(200),
    outcome: p.json<object>(),
  },
})

/** What the last step of an import came to, kept with what it wrote. */
export class ImportStep extends importStep.class {}
importStep.setClass(ImportStep)
