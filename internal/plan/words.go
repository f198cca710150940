package plan

// Words are what a family of servers calls things that plans name: examples, and short ways to write an axis. The zero
// value leaves these out.
type Words struct {
	Setting      Example // of the server's start
	Set          Example // changed while the server runs
	Vary         string  // a setting that is worth an axis, with the values 0 and 1
	Engine       string  // a storage engine of tables
	PageSize     string  // the setting of the size of pages, bytes; "" when there is none
	IgnoreErrors string  // another name of the key ignore_errors
}

// Example is a setting with a value.
type Example struct{ Name, Value string }

// text is how a plan has it.
func (e Example) text() string {
	if e.Name == "" {
		return "name: value"
	}
	return e.Name + ": " + e.Value
}

// suchAs is the example as the end of a hint.
func suchAs(example string) string {
	if example == "" {
		return ""
	}
	return ", such as " + example
}
