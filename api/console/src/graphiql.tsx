import 'graphiql/setup-workers/vite';
import 'graphiql/style.css';
import './graphiql.css';

import { createGraphiQLFetcher } from '@graphiql/toolkit';
import { GraphiQL } from 'graphiql';
import { createRoot } from 'react-dom/client';

import welcomeQuery from './welcome.graphql?raw';

// The page is served by the endpoint it talks to.
const endpoint = new URL(window.location.pathname, window.location.origin);

const fetcher = createGraphiQLFetcher({
  url: endpoint.href,
  subscriptionUrl: endpoint.href.replace(/^http/, 'ws'),
  enableIncrementalDelivery: false,
});

/** `?query=…&variables=…` opens the page with that operation. */
function operationFromLink() {
  const link = new URLSearchParams(window.location.search);
  const query = link.get('query');
  if (query === null) return {};
  // Empty rather than absent: else the variables of the last visit would join the linked query.
  return { initialQuery: query, initialVariables: link.get('variables') ?? '' };
}

// The history plugin, on by default, would keep every request's headers in localStorage, token included.
const WITHOUT_HISTORY: [] = [];

createRoot(document.getElementById('graphiql')!).render(
  <GraphiQL
    {...operationFromLink()}
    fetcher={fetcher}
    plugins={WITHOUT_HISTORY}
    defaultQuery={welcomeQuery}
    defaultEditorToolsVisibility="headers"
    isHeadersEditorEnabled
    shouldPersistHeaders={false}
    showPersistHeadersSettings={false}
  >
    <GraphiQL.Logo>Loregraph</GraphiQL.Logo>
  </GraphiQL>,
);
