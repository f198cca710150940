import type { Plugin } from 'vite'

// uPlot can do more than the graphs of this page ask of it: a legend, an axis of time, logarithms, bars and curves,
// plots on their side. What is never used is declared here as a constant, so that the minifier leaves out what stands
// behind it. Each line says how often its words are in uPlot's source: another version fails to build until someone
// has read these lines again.
const facts: [find: string | RegExp, times: number, put: string][] = [
  // The module itself is used only for plots, and only in a browser.
  [/^uPlot\.assign = [^]*(?=^export )/m, 1, ''],
  ['on(dppxchange, win, () => { uPlot.pxRatio = pxRatio; });', 1, ''],
  ["typeof window != 'undefined'", 1, 'true'],
  [/typeof queueMicrotask == "undefined" \? [^:]*: /, 1, ''],
  [/\tself\.((?:add|del|set)(?:Series|Band)|set(?:Legend|Scale|Cursor)|posToIdx|valToIdx|batch) = /g, 12,
    '\tconst no_$1 = '],
  [/\(opts\.plugins \|\| \[\]\)\.forEach\(p => \{[^]*?\n\t\}\);/g, 2, ''],
  ['if (deferHooks)', 1, 'if (false)'],
  ['if (opts.title) {', 1, 'if (false) {'],
  // x runs to the right and y upwards, both evenly, and what they range over is said by who draws.
  [/\b(?:self|u)\.mode\b/g, 3, '1'],
  ['mode: ifNull(opts.mode, 1),', 1, ''],
  [/^const xySeriesOpts = [^]*?^\};\n/m, 1, ''],
  [/\b(?:scaleX|sx|axisX)\.ori\b/g, 37, '0'],
  ['src.axes[0].side % 2 == 1', 1, 'false'],
  [/\b(?:sc|wsc|scale|scaleX)\.distr\b/g, 28, '1'],
  [/\bdistr == \d+\b/g, 10, 'false'],
  [/\b(?:sc|scale)\.dir == -1/g, 3, 'false'],
  [/\bscaleX\.dir\b/g, 5, '1'],
  ['if (scaleKey != xScaleKey || (mode == 2 && !isTime)) {', 1, 'if (false) {'],
  [/fnOrSelf\(rn \|\| \(isTime[^]*?\)\s+\)\);/, 1, 'rn;'],
  ['sc.clamp = fnOrSelf(sc.clamp || clampScale);', 1, ''],
  [/\bsc(?:aleOpts)?\.from != null\b/g, 2, 'false'],
  ['wsc.from != null', 1, 'false'],
  [/\bw?sc\.from == null\b/g, 4, 'true'],
  ['[_min, _max] = rangeNum(_min, _max, rangePad, true);', 1, '_max = _min + 1;'],
  ['_max = _min + round(86400 / ms);', 1, '_max = _min + 1;'],
  ['else if (s.show && s.auto)', 1, 'else if (false)'],
  [/\(opts\.padding \|\| [^\n]*/, 1, 'opts.padding.map(fnOrSelf);'],
  // Lines and points; nothing round, nothing on its side.
  ['const rectH = rect(0);\nconst rectV = rect(1);', 1, 'const rectH = (p, x, y, w, h) => p.rect(x, y, w, h);'],
  ['const drawAccV = _drawAcc(lineToV);', 1, ''],
  [/\b(?:strokePath|fillPath) instanceof Map\b/g, 2, 'false'],
  // Axes bring distances, ticks and texts of their own, and neither a title nor a line.
  [/^const numFormatter = [^]*?(?=^const M = )/m, 1, ''],
  [/^const months = \[[^]*?(?=^function cursorPointShow)/m, 1, ''],
  [/const _tzDate  =[^]*?(?=const activeIdxs)/, 1, ''],
  [/let isTime = mode == 1 && scales[^]*?numSeriesLabel\);/, 1, ''],
  [/axis\.incrs  \|\| \([^\n]*\)\);/, 1, 'axis.incrs);'],
  [/axis\.splits \|\| \([^\n]*\)\);/, 1, 'axis.splits);'],
  [/axis\.values = \([^]*?numAxisVals\s+\);/, 1, ''],
  [/axis\.filter \|\| \([^\n]*\)\);/, 1, 'retArg1);'],
  [/axis\.label != null/g, 3, 'false'],
  [/axis\._rotate = side [^\n]*/, 1, ''],
  ['let angle = axis._rotate * -PI/180;', 1, ''],
  [/\bangle\b(?! )|\bangle(?= [|><])/g, 5, 'false'],
  [/\b(?:ticks|border)\.show\b/g, 3, 'false'],
  ['val.indexOf("\\n") == -1 ? [val] : val.split(/\\n/gm)', 1, '[val]'],
  // The page has a legend and a cursor of its own: no rows, no points, nothing that stands out while the others fade.
  [/const legend     = [^\n]*/, 1, ''],
  ['const showLegend = legend.show;', 1, ''],
  ['const markers    = legend.markers;', 1, ''],
  [/\{\s+legend\.idxs = activeIdxs;[^]*?\n\t\}/, 1, ''],
  [/\bshowLegend\b|\blegend\.(?:live|show)\b/g, 17, 'false'],
  ['legendTable?.remove();', 1, ''],
  ['legend.idx = idx;\n\t\t\tsetLegend();', 1, ''],
  ['if (cursor.dataIdx == null) {', 1, 'if (false) {'],
  ['const cursorFocus = focus.prox >= 0;\n\tconst cursorOnePt = cursorFocus && points.one;', 1, ''],
  [/\bcursorFocus\b|\bcursorOnePt\b/g, 11, 'false'],
  [/^\tpoints\.\w+ +=[^\n]*$/gm, 5, ''],
  [/let pt = points\.show[^]*?if \(pt instanceof HTMLElement\) \{/, 1, 'let pt;\n\t\tif (false) {'],
  [/let pt = cursorPts\[i\];\n\s+pt != null && elTrans\([^\n]*/g, 1, ''],
  ['for (let i = mode == 2 ? 1 : 0; i < series.length; i++) {\n\t\t\t\tlet s', 1,
    'for (let i; false; ) {\n\t\t\t\tlet s'],
  [/points: \{\s+one: [^]*?\n\t\},/, 1, 'points: {},'],
  ['let shouldAlpha = series.some(s => s._focus) && ctxAlpha != focus.alpha;', 1, ''],
  [/\bshouldAlpha\b/g, 2, 'false'],
  [/events\["setSeries"\] = [^]*?\n\t\};/, 1, ''],
  ['events.dblclick = dblClick;', 1, ''],
  ['onMouse(dblclick, over, dblClick);', 1, 'onMouse(dblclick, over, noop);'],
  ['const showCursor =                cursor.show;', 1, ''],
  [/\bshowCursor\b|\bselect\.show\b/g, 16, 'true'],
  [/\bcursor\.y\b|\bdrag\.y\b/g, 5, 'false'],
  ['if (uni != null) {', 1, 'if (false) {'],
  [/let matchingY = [^\n]*/, 1, 'const matchingY = false;'],
  ['if (cursor._lock)', 6, 'if (false)'],
  ['else if (cursor.lock) {', 1, 'else if (false) {'],
  ['if (drag.setScale && hasSelect && chgSelect) {', 1, 'if (false) {'],
]

/** Takes out of uPlot what the page does not use. */
export function lean(): Plugin {
  return {
    name: 'lean-uplot',
    enforce: 'pre',
    apply: 'build',
    transform(code, id) {
      if (!id.endsWith('/uPlot.esm.js')) return undefined
      for (const [find, times, put] of facts) {
        const found = typeof find === 'string' ? code.split(find).length - 1
          : [...code.matchAll(new RegExp(find, [...new Set(find.flags + 'g')].join('')))].length
        if (found !== times) this.error(`uPlot has ${found} times ${find}, not ${times}`)
        code = typeof find === 'string' ? code.replaceAll(find, put) : code.replace(find, put)
      }
      return { code, map: null }
    },
  }
}
