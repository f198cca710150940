package httpapi

import (
	"encoding"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/discovery"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/hist"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/lab"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/store/access"
	"github.com/dyno-perf/dyno/internal/task"
)

// schemas makes JSON schemas of Go types, as encoding/json writes them, with the comments of the sources as
// descriptions.
type schemas struct {
	t     *testing.T
	named map[string]reflect.Type // by name of the component
	done  map[reflect.Type]string
	all   map[string]yaml.MapSlice
	docs  map[string]*packageDoc
}

// packageDoc is what the source of a package says of its types.
type packageDoc struct {
	types  map[string]string
	fields map[string]string // "Type.Field"
	values map[string][]string
}

func newSchemas(t *testing.T) *schemas {
	return &schemas{
		t: t, named: map[string]reflect.Type{}, done: map[reflect.Type]string{},
		all: map[string]yaml.MapSlice{}, docs: map[string]*packageDoc{},
	}
}

func item(k string, v any) yaml.MapItem { return yaml.MapItem{Key: k, Value: v} }

var (
	timeType   = reflect.TypeFor[time.Time]()
	rawType    = reflect.TypeFor[json.RawMessage]()
	histType   = reflect.TypeFor[hist.Histogram]()
	textType   = reflect.TypeFor[encoding.TextMarshaler]()
	binaryType = reflect.TypeFor[[]byte]()
)

// closed are the types of strings that never have a value beside their constants.
var closed = map[reflect.Type]bool{
	reflect.TypeFor[access.Role]():          true,
	reflect.TypeFor[lab.State]():            true,
	reflect.TypeFor[discovery.LoginState](): true,
	reflect.TypeFor[task.State]():           true,
	reflect.TypeFor[digest.ClassVerdict]():  true,
	reflect.TypeFor[finding.Confidence]():   true,
	reflect.TypeFor[finding.Severity]():     true,
	reflect.TypeFor[journal.State]():        true,
	reflect.TypeFor[source.State]():         true,
	reflect.TypeFor[stat.Result]():          true,
}

// filled are the components whose lists and maps are never null: who makes them sees to it.
var filled = strings.Fields("Locks Deadlock LockWait ChangeDetail Checked ClassAnyList ClassFull ClassPlan " +
	"ClassTable Denial " +
	"DiagnosisDetail Discovery EventList Found Graph Incident IncidentFull IncidentList " +
	"HttpapiLine Intent LabChart LabChartLine LabDryRun LabExperiment LabNeeds LabRecipe LabRunDetail " +
	"LabScale Laid " +
	"LaidCell LaidGroup LaidLine LaidRates LaidStrip LaidSweep LaidTable Line PeriodComparison Settings TimeModel")

// mayBeNull are their members that are null all the same.
var mayBeNull = []string{"DiagnosisDetail.reasoning", "LabExperiment.tally"}

// isKnown reports whether a type is a known.Value, and of what.
func isKnown(t reflect.Type) (reflect.Type, bool) {
	if t.Kind() == reflect.Struct && strings.HasPrefix(t.Name(), "Value[") && strings.HasSuffix(t.PkgPath(), "/known") {
		return t.Field(0).Type, true
	}
	return nil, false
}

// of returns the schema of a type.
func (s *schemas) of(t reflect.Type) yaml.MapSlice {
	if of, ok := isKnown(t); ok {
		return nullable(s.of(of))
	}
	switch t {
	case timeType:
		return yaml.MapSlice{item("type", "string"), item("format", "date-time")}
	case rawType, histType:
		return yaml.MapSlice{}
	case binaryType:
		return yaml.MapSlice{item("type", "string")}
	}
	if t.Kind() == reflect.Pointer {
		if t.Elem() == histType {
			return yaml.MapSlice{}
		}
		return nullable(s.of(t.Elem()))
	}
	if t.Implements(textType) && t.Kind() != reflect.Interface {
		return yaml.MapSlice{item("type", "string")}
	}
	switch t.Kind() {
	case reflect.Bool:
		return yaml.MapSlice{item("type", "boolean")}
	case reflect.String:
		x := yaml.MapSlice{item("type", "string")}
		if d := s.doc(t); d != nil {
			if vs := d.values[t.Name()]; len(vs) > 1 {
				x = append(x, item(map[bool]string{true: "enum", false: "examples"}[closed[t]], vs))
			}
		}
		return x
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return yaml.MapSlice{item("type", "integer")}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return yaml.MapSlice{item("type", "integer"), item("minimum", 0)}
	case reflect.Float32, reflect.Float64:
		return yaml.MapSlice{item("type", "number")}
	case reflect.Slice:
		return yaml.MapSlice{item("type", []string{"array", "null"}), item("items", s.of(t.Elem()))}
	case reflect.Array:
		return yaml.MapSlice{
			item("type", "array"), item("items", s.of(t.Elem())), item("minItems", t.Len()),
			item("maxItems", t.Len()),
		}
	case reflect.Map:
		return yaml.MapSlice{item("type", []string{"object", "null"}), item("additionalProperties", s.of(t.Elem()))}
	case reflect.Struct:
		if t.Name() == "" {
			return s.object(t)
		}
		return yaml.MapSlice{item("$ref", "#/components/schemas/"+s.component(t))}
	default:
		return yaml.MapSlice{} // anything
	}
}

// nullable adds null to what a schema allows.
func nullable(x yaml.MapSlice) yaml.MapSlice {
	for i, m := range x {
		switch {
		case m.Key == "$ref":
			return yaml.MapSlice{item("oneOf", []yaml.MapSlice{x, {item("type", "null")}})}
		case m.Key == "type":
			if one, ok := m.Value.(string); ok {
				y := slices.Clone(x)
				y[i].Value = []string{one, "null"}
				return y
			}
		}
	}
	return x
}

// full takes null from the lists and maps of an object.
func full(x yaml.MapSlice, name string) yaml.MapSlice {
	i := slices.IndexFunc(x, func(m yaml.MapItem) bool { return m.Key == "properties" })
	props := slices.Clone(x[i].Value.(yaml.MapSlice))
	for j, p := range props {
		if !slices.Contains(mayBeNull, name+"."+p.Key.(string)) {
			props[j].Value = solid(p.Value.(yaml.MapSlice))
		}
	}
	x[i].Value = props
	return x
}

// solid takes null from a list or a map, and from those in it.
func solid(x yaml.MapSlice) yaml.MapSlice {
	if v, ok := x[0].Value.([]string); !ok || x[0].Key != "type" || v[0] != "array" && v[0] != "object" {
		return x
	}
	x = never(x)
	for i, m := range x {
		if of, ok := m.Value.(yaml.MapSlice); ok && len(of) > 0 {
			x[i].Value = solid(of)
		}
	}
	return x
}

// never takes null from what a schema allows: of members that are left out instead, and of lists that are never null.
func never(x yaml.MapSlice) yaml.MapSlice {
	for i, m := range x {
		switch v := m.Value.(type) {
		case []string:
			if m.Key == "type" && len(v) == 2 && v[1] == "null" {
				y := slices.Clone(x)
				y[i].Value = v[0]
				return y
			}
		case []yaml.MapSlice:
			if m.Key == "oneOf" && len(v) == 2 {
				return v[0]
			}
		}
	}
	return x
}

// component makes a named schema of a struct and returns its name.
func (s *schemas) component(t reflect.Type) string {
	if n, ok := s.done[t]; ok {
		return n
	}
	name := strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
	pkg := filepath.Base(t.PkgPath())
	if s.named[name] != nil || pkg == "lab" { // whose Run, Scale and Live say little alone
		name = strings.ToUpper(pkg[:1]) + pkg[1:] + name
		if s.named[name] != nil {
			s.t.Fatalf("two types are called %s", name)
		}
	}
	s.named[name], s.done[t] = t, name
	x := s.object(t)
	if slices.Contains(filled, name) {
		x = full(x, name)
	}
	if d := s.doc(t); d != nil && d.types[t.Name()] != "" {
		x = append(yaml.MapSlice{item("description", d.types[t.Name()])}, x...)
	}
	s.all[name] = x
	return name
}

type member struct {
	name  string
	field reflect.StructField
	owner reflect.Type
	depth int
	omit  bool
	text  bool // written as a string
}

// members lists what encoding/json writes of a struct: of several of one name the one that lies highest.
func members(t reflect.Type, depth int) (all []member) {
	for f := range t.Fields() {
		tag := f.Tag.Get("json")
		name, opts, _ := strings.Cut(tag, ",")
		if tag == "-" {
			continue
		}
		if f.Anonymous && name == "" {
			e := f.Type
			if e.Kind() == reflect.Pointer {
				e = e.Elem()
			}
			if e.Kind() == reflect.Struct && e != timeType {
				all = append(all, members(e, depth+1)...)
				continue
			}
		}
		if !f.IsExported() {
			continue
		}
		if name == "" {
			name = f.Name
		}
		all = append(all, member{name, f, t, depth, strings.Contains(opts, "omit"), strings.Contains(opts, "string")})
	}
	if depth > 0 {
		return all
	}
	var out []member
	for _, m := range all {
		i := slices.IndexFunc(out, func(o member) bool { return o.name == m.name })
		switch {
		case i < 0:
			out = append(out, m)
		case m.depth < out[i].depth:
			out[i] = m
		}
	}
	return out
}

func (s *schemas) object(t reflect.Type) yaml.MapSlice {
	x := yaml.MapSlice{item("type", "object")}
	var props yaml.MapSlice
	var required []string
	for _, m := range members(t, 0) {
		p := s.of(m.field.Type)
		if m.omit {
			p = never(p)
		} else {
			required = append(required, m.name)
		}
		if d := s.doc(m.owner); d != nil {
			if text := d.fields[m.owner.Name()+"."+m.field.Name]; text != "" {
				if len(p) == 1 && p[0].Key == "$ref" {
					p = yaml.MapSlice{item("allOf", []yaml.MapSlice{p})}
				}
				p = append(slices.Clone(p), item("description", text))
			}
		}
		props = append(props, item(m.name, p))
	}
	if len(required) > 0 {
		x = append(x, item("required", required))
	}
	if len(props) > 0 {
		x = append(x, item("properties", props))
	}
	return x
}

// doc reads the sources of a type's package.
func (s *schemas) doc(t reflect.Type) *packageDoc {
	path, ok := strings.CutPrefix(t.PkgPath(), "github.com/dyno-perf/dyno/internal/")
	if !ok {
		return nil
	}
	if d := s.docs[path]; d != nil {
		return d
	}
	d := &packageDoc{types: map[string]string{}, fields: map[string]string{}, values: map[string][]string{}}
	s.docs[path] = d
	files, err := filepath.Glob(filepath.Join("..", path, "*.go"))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			s.t.Fatal(err)
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, decl := range f.Decls {
			g, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range g.Specs {
				switch x := spec.(type) {
				case *ast.TypeSpec:
					doc := x.Doc
					if doc == nil {
						doc = g.Doc
					}
					d.types[x.Name.Name] = flat(doc)
					st, ok := x.Type.(*ast.StructType)
					if !ok {
						continue
					}
					for _, field := range st.Fields.List {
						text := flat(field.Doc)
						if text == "" {
							text = flat(field.Comment)
						}
						for _, n := range field.Names {
							d.fields[x.Name.Name+"."+n.Name] = text
						}
					}
				case *ast.ValueSpec:
					id, ok := x.Type.(*ast.Ident)
					if !ok || g.Tok != token.CONST {
						continue
					}
					for _, v := range x.Values {
						if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.STRING {
							if text, err := strconv.Unquote(lit.Value); err == nil && text != "" {
								d.values[id.Name] = append(d.values[id.Name], text)
							}
						}
					}
				}
			}
		}
	}
	return d
}

// flat makes one line of a comment.
func flat(c *ast.CommentGroup) string {
	if c == nil {
		return ""
	}
	return strings.Join(strings.Fields(c.Text()), " ")
}
