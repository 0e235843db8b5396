// Checks a page of `dpamatch explore --html` in Chromium: no network, keys, the address, 400 pixels,
// dark and light, names and words for screen readers.
//
//     node tools/explore/story/browser.mjs PAGE.html [FOLDER FOR SCREENSHOTS]
//
// Needs Node 18 and Chromium (CHROMIUM names it if it is not in PATH); nothing from npm. Without
// Chromium it says so and ends well.
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [page, shots] = process.argv.slice(2);
if (!page) {
  console.error("usage: node browser.mjs PAGE.html [FOLDER]");
  process.exit(2);
}
const names = [process.env.CHROMIUM, "chromium", "chromium-browser", "google-chrome"].filter(Boolean);
const chromium = names.find(name => spawnSync(name, ["--version"]).status === 0);
if (!chromium) {
  console.log("skipped: there is no Chromium here");
  process.exit(0);
}

const profile = mkdtempSync(join(tmpdir(), "dpamatch-page-"));
const browser = spawn(chromium, ["--headless", "--no-sandbox", "--disable-gpu",
  "--disable-background-networking", "--remote-debugging-pipe", `--user-data-dir=${profile}`,
  "about:blank"], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
const [, , , out, back] = browser.stdio;
const waiting = new Map();
const events = [];
let held = "";
let last = 0;
back.on("data", data => {
  const parts = (held + data).split("\0");
  held = parts.pop();
  for (const message of parts.map(part => JSON.parse(part))) {
    if (message.id) waiting.get(message.id)?.(message);
    else events.push(message);
  }
});
let session;
function send(method, params = {}) {
  last += 1;
  const id = last;
  out.write(JSON.stringify({ id, method, params, ...(session ? { sessionId: session } : {}) }) + "\0");
  return new Promise((done, fail) => waiting.set(id, ({ result, error }) =>
    error ? fail(new Error(`${method}: ${error.message}`)) : done(result)));
}
async function value(expression) {
  const { result, exceptionDetails } = await send("Runtime.evaluate",
    { expression, returnByValue: true, awaitPromise: true });
  if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  return result.value;
}
async function key(name, code) {
  const params = { key: name, code: name, windowsVirtualKeyCode: code };
  await send("Input.dispatchKeyEvent", { type: "rawKeyDown", ...params });
  await send("Input.dispatchKeyEvent", { type: "keyUp", ...params });
}
const [RIGHT, LEFT, HOME, END, TAB] =
  [["ArrowRight", 39], ["ArrowLeft", 37], ["Home", 36], ["End", 35], ["Tab", 9]];
const failed = [];
function check(what, holds) {
  console.log(`${holds ? "ok    " : "FAILED"} ${what}`);
  if (!holds) failed.push(what);
}

async function open(url, width, scheme) {
  await send("Emulation.setDeviceMetricsOverride",
    { width, height: 900, deviceScaleFactor: 1, mobile: false });
  await send("Emulation.setEmulatedMedia",
    { features: [{ name: "prefers-color-scheme", value: scheme }] });
  await send("Emulation.setScrollbarsHidden", { hidden: true });
  await send("Page.navigate", { url: "about:blank" });
  await send("Page.navigate", { url });
  for (let tries = 0; tries < 200; tries += 1) {
    if (await value("document.readyState === 'complete' && location.protocol === 'file:'")) return;
    await new Promise(done => setTimeout(done, 25));
  }
  throw new Error("the page was not loaded");
}

// How well text can be read on what is behind it (WCAG 2.1, contrast ratio).
const CONTRAST = `(() => {
  const parse = text => {
    const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number);
    return text.startsWith("color(srgb") ? [r * 255, g * 255, b * 255, a] : [r, g, b, a];
  };
  const light = ([r, g, b]) => [r, g, b].map(c => c / 255)
    .map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = element => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) layers.push(parse(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((under, [r, g, b, a]) =>
      [r, g, b].map((c, at) => c * a + under[at] * (1 - a)), [255, 255, 255]);
  };
  const texts = [...document.querySelectorAll("body *")].filter(element =>
    [...element.childNodes].some(node => node.nodeType === 3 && node.textContent.trim())
    && element.checkVisibility() && !element.closest(".hidden, script, noscript, td.later, :disabled"));
  return texts.map(element => {
    const [a, b] = [light(parse(getComputedStyle(element).color)), light(behind(element))];
    return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), element.className + " " + element.textContent.slice(0, 30)];
  }).sort((a, b) => a[0] - b[0])[0];
})()`;

try {
  const { targetInfos } = await send("Target.getTargets");
  const { targetId } = targetInfos.find(({ type }) => type === "page");
  session = (await send("Target.attachToTarget", { targetId, flatten: true })).sessionId;
  for (const domain of ["Page", "Runtime", "Network", "Log", "Accessibility"]) await send(`${domain}.enable`);
  const url = pathToFileURL(resolve(page)).href;

  await open(url, 1300, "light");
  const steps = await value("views[0].last + 1");
  const now = () => value("views[0].now.textContent");
  check(`there are steps: ${steps}`, steps > 3);
  check("begins with step 1", (await now()).includes(`Step 1 of ${steps}`));
  await key(...RIGHT);
  check("arrow right goes on", (await now()).includes("Step 2 of"));
  check("the address names the step", (await value("location.hash")).startsWith("#step=2"));
  await key(...END);
  check("End goes to the last", (await now()).includes(`Step ${steps} of`));
  await key(...LEFT);
  check("arrow left goes back", (await now()).includes(`Step ${steps - 1} of`));
  await key(...HOME);
  check("Home goes to the first", (await now()).includes("Step 1 of"));
  await key(...TAB);
  const reached = [];
  for (let tabs = 0; tabs < 6; tabs += 1) {
    reached.push(await value("document.activeElement.getAttribute('aria-label') ?? ''"));
    await key(...TAB);
  }
  check("buttons and slider are reached by Tab", reached.some(name => name.startsWith("Step of"))
    && reached.includes("step on"));
  await value("views[0].slider.focus()");
  await key(...RIGHT);
  check("the slider goes on by one", (await now()).includes("Step 2 of"));

  await open(`${url}#step=3`, 1300, "light");
  check("the address goes to its step", (await now()).includes("Step 3 of"));
  await value("location.hash = '#step=2'");
  await new Promise(done => setTimeout(done, 100));
  check("a changed address goes to its step", (await now()).includes("Step 2 of"));
  await open(`${url}#step=99999`, 1300, "light");
  check("an address too far goes to the last", (await now()).includes(`Step ${steps} of`));

  const { nodes } = await send("Accessibility.getFullAXTree");
  const seen = nodes.filter(({ ignored }) => !ignored);
  const unnamed = seen.filter(({ role, name }) =>
    ["button", "slider", "link", "image", "region"].includes(role?.value) && !name?.value);
  check("everything that acts has a name", unnamed.length === 0);
  check("the step is told aloud", await value("views.every(view => view.now.getAttribute('aria-live') === 'polite')"));

  for (const scheme of ["light", "dark"]) {
    for (const width of [1300, 400]) {
      const [worst, sides] = [[], []];
      for (const step of [1, Math.ceil(steps / 2), steps]) {
        await open(`${url}#step=${step},${step}`, width, scheme);
        worst.push(await value(CONTRAST));
        sides.push(await value("document.scrollingElement.scrollWidth"));
      }
      worst.sort((a, b) => a[0] - b[0]);
      check(`${width} px, ${scheme}: text can be read (${worst[0][0].toFixed(1)}: ${worst[0][1]})`, worst[0][0] >= 4.5);
      check(`${width} px, ${scheme}: nothing sticks out`, Math.max(...sides) <= width);
      if (shots) {
        await open(`${url}#step=${Math.ceil(steps * 0.7)},${Math.ceil(steps * 0.7)}`, width, scheme);
        mkdirSync(shots, { recursive: true });
        const { data } = await send("Page.captureScreenshot", { format: "png", captureBeyondViewport: true });
        writeFileSync(join(shots, `${width}-${scheme}.png`), Buffer.from(data, "base64"));
      }
    }
  }
  const asked = events.filter(({ method }) => method === "Network.requestWillBeSent")
    .map(({ params }) => params.request.url).filter(to => !/^(file|data|about):/.test(to));
  check("nothing is fetched", asked.length === 0);
  const errors = events.filter(({ method, params }) => method === "Runtime.exceptionThrown"
    || method === "Log.entryAdded" && params.entry.level === "error");
  check("no error is logged", errors.length === 0);
} catch (error) {
  check(`the browser answers: ${error.message}`, false);
} finally {
  browser.kill();
  await new Promise(done => browser.once("exit", done));
  rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
}
process.exit(failed.length === 0 ? 0 : 1);
