// node run_axe.mjs CHROMIUM AXE PAGE WIDTH SCHEME: what axe-core finds in a page, as JSON.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [, , chromium, axe, page, width, scheme] = process.argv;
const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'axe-'));
const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--remote-debugging-pipe'];
const browser = spawn(chromium, [...flags, `--user-data-dir=${profile}`, 'about:blank'], {
  stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
});
const waiting = {};
const blocked = [];
let loaded;
const ready = new Promise((resolve) => { loaded = resolve; });
let last = 0;
let rest = '';

browser.stdio[4].on('data', (data) => {
  rest += data;
  const parts = rest.split('\0');
  rest = parts.pop();
  for (const message of parts.map((part) => JSON.parse(part))) {
    if (message.id) waiting[message.id](message.result);
    else if (message.method === 'Page.loadEventFired') loaded();
    else if (message.method === 'Log.entryAdded') blocked.push(message.params.entry.text);
  }
});

function send(method, params = {}, sessionId = undefined) {
  last += 1;
  browser.stdio[3].write(`${JSON.stringify({ id: last, method, params, sessionId })}\0`);
  return new Promise((resolve) => { waiting[last] = resolve; });
}

const { targetId } = await send('Target.createTarget', { url: 'about:blank' });
const { sessionId } = await send('Target.attachToTarget', { targetId, flatten: true });
const ask = (method, params) => send(method, params, sessionId);
const features = [{ name: 'prefers-color-scheme', value: scheme }];
await ask('Log.enable');
await ask('Page.enable');
await ask('Emulation.setDeviceMetricsOverride', {
  width: Number(width), height: 900, deviceScaleFactor: 1, mobile: false,
});
await ask('Emulation.setEmulatedMedia', { features });
await ask('Page.navigate', { url: pathToFileURL(page).href });
await ready;
await ask('Runtime.evaluate', { expression: fs.readFileSync(axe, 'utf8') });
const { result } = await ask('Runtime.evaluate', {
  expression: `(async () => {
    for (const each of document.querySelectorAll('details')) each.open = true;
    const found = await axe.run(document, { resultTypes: ['violations', 'passes'] });
    return JSON.stringify({
      violations: found.violations.map(({ id, impact, nodes }) => ({
        id, impact, nodes: nodes.map((node) => node.html.slice(0, 200)),
      })),
      passes: found.passes.map(({ id }) => id),
      width: document.documentElement.scrollWidth,
      ground: getComputedStyle(document.body).backgroundColor,
    });
  })()`,
  awaitPromise: true,
  returnByValue: true,
});
console.log(JSON.stringify({ ...JSON.parse(result.value), blocked }));
browser.kill();
