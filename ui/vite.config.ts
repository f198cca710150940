import { transformWithEsbuild, type Plugin } from 'vite'
import { defineConfig } from 'vitest/config'
import { lean } from './lean'

// The theme is set before the first paint by a script of its own: the page allows no inline scripts, and modules run
// too late.
function themeFirst(): Plugin {
  const at = './src/theme.js'
  let source = ''
  let building = false
  return {
    name: 'theme-first',
    configResolved(c) {
      building = c.command === 'build'
    },
    async buildStart() {
      if (!building) return
      const found = await this.resolve(at)
      if (!found) throw new Error(`there is no ${at}`)
      source = (await transformWithEsbuild(await this.fs.readFile(found.id, { encoding: 'utf8' }), found.id,
        { minify: true, target: 'es2020' })).code
      this.emitFile({ type: 'asset', name: 'theme.js', source })
    },
    transformIndexHtml: {
      order: 'post',
      handler(_html, { bundle }) {
        let src = '/src/theme.js'
        for (const f of Object.values(bundle ?? {}))
          if (f.type === 'asset' && f.names.includes('theme.js')) src = './' + f.fileName
        return [{ tag: 'script', attrs: { src }, injectTo: 'head-prepend' }]
      },
    },
  }
}

// Pages whose parts stand on other pages too.
const lent: Record<string, string[]> = { changes: ['findings'], settings: ['welcome', 'overhead'],
  login: ['settings', 'welcome'] }

// All styles that were fetched apply on every page: those of a page count beneath its own class only, so that
// two pages may have the same words. The shell puts the class on what is round a page.
function pagesApart(): Plugin {
  return {
    name: 'pages-apart',
    enforce: 'pre',
    transform(code, id) {
      const name = /\/src\/pages\/([a-z]+)\/[^/]+\.css$/.exec(id)?.[1]
      if (name === undefined) return undefined
      const where = [name, ...(lent[name] ?? [])].map((p) => '.of-' + p)
      return { code: `${where.length > 1 ? `:is(${where.join(', ')})` : where[0]} {\n${code}\n}\n`, map: null }
    },
  }
}

// What is fetched in one piece: what is watched, and what is done about it. The lab is a world of its own.
const together: Record<string, string> = {
  fleet: 'watch', overview: 'watch', activity: 'watch', queries: 'watch',
  findings: 'work', changes: 'work', settings: 'work', welcome: 'work', overhead: 'work', login: 'work',
}

const page = /\/src\/pages\/([a-z]+)\/index\.tsx$/

export default defineConfig({
  base: './',
  plugins: [themeFirst(), pagesApart(), lean()],
  // Elements are made by calls of Preact's h, which are shorter than what the newer way of JSX gives.
  esbuild: { jsx: 'transform', jsxFactory: 'jsxElement', jsxFragment: 'JsxFragment',
    jsxInject: "import { h as jsxElement, Fragment as JsxFragment } from 'preact'" },
  build: {
    outDir: '../internal/web/dist',
    emptyOutDir: true,
    target: ['chrome120', 'firefox120', 'safari17.2'],
    assetsInlineLimit: 0,
    cssCodeSplit: false, // the styles of all pages together are smaller than what each page would bring along
    minify: 'terser',
    terserOptions: { ecma: 2020, safari10: false, compress: { passes: 3 } },
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rollupOptions: {
      output: {
        entryFileNames: 'assets/[name]-[hash].js',
        chunkFileNames: (c) => `assets/${page.exec(c.facadeModuleId ?? '')?.[1] ?? c.name}-[hash].js`,
        // What every page needs comes in one piece, what draws graphs in another. One piece is smaller than many, so
        // that pages whose parts stand on each other, or that are looked at in one go, come together.
        manualChunks: (id) => {
          if (/\/src\/graph\/|\/uplot\//.test(id)) return 'graph'
          if (/\/src\/((core|kit|css)\/|relogin\.tsx)|\/node_modules\/|vite\/preload-helper/.test(id)) return 'core'
          return together[/\/src\/pages\/([a-z]+)\//.exec(id)?.[1] ?? '']
        },
        assetFileNames: 'assets/[name]-[hash][extname]',
      },
    },
  },
  server: { host: '127.0.0.1', proxy: { '/api': 'http://127.0.0.1:8306' } },
  test: { environment: 'node', css: true, include: ['src/**/*.test.ts', 'src/**/*.test.tsx'] },
})
