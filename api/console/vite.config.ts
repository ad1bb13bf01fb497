import { defineConfig } from 'vite';

// One line per page; each page becomes ../static/<name>.html.
const PAGES = {
  graphiql: 'graphiql.html',
};

const MONACO_CHUNK_KB = 4000;

export default defineConfig({
  base: '/static/',
  build: {
    outDir: '../static',
    emptyOutDir: true,
    rolldownOptions: {
      input: PAGES,
      // Libraries mark files "use client" for server rendering, which these pages do not do.
      checks: { moduleLevelDirective: false },
    },
    // Monaco is one big chunk by nature; warn only when it outgrows itself.
    chunkSizeWarningLimit: MONACO_CHUNK_KB,
  },
  worker: { format: 'es' },
});
