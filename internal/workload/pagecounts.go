package workload

import (
	"math"
	"strconv"
	"time"
)

// PageCounts works on a table of how often pages of an encyclopedia were read, hour by hour: narrow rows of short texts
// that compress well, sorted as such dumps are. The zero PageCounts is the load; see PageCountsLoad and the others.
type PageCounts struct{ operation dataOperation }

// PageCountsLoad inserts rows, PageCountsSelect reads ranges by the primary key, PageCountsUpdate changes single rows
// at random.
func PageCountsLoad() PageCounts { return PageCounts{dataLoad} }

// PageCountsSelect reads ranges.
func PageCountsSelect() PageCounts { return PageCounts{dataSelect} }

// PageCountsUpdate changes rows.
func PageCountsUpdate() PageCounts { return PageCounts{dataUpdate} }

// Name returns page_counts_load, page_counts_select or page_counts_update.
func (w PageCounts) Name() string { return pageCounts.name + "_" + w.operation.String() }

// Title says what it does.
func (w PageCounts) Title() string {
	return [...]string{
		"inserts rows of page counts: project, title, requests, bytes", "reads a range of a table of page counts",
		"updates one row of a table of page counts",
	}[w.operation]
}

// Options returns what it takes; every one of the three takes them all.
func (w PageCounts) Options() []Option {
	return append(datasetOptions(w.operation, pageCounts.name),
		Option{Name: "pages", Type: Number, Default: "10000", Max: 1_000_000_000, Help: "pages that are counted each " +
			"hour"})
}

// Build settles the options.
func (w PageCounts) Build(given map[string]string) (*Plan, error) {
	p, err := pageCounts.plan(w.Name(), w.operation, w.Options(), given)
	if err != nil {
		return nil, err
	}
	if Values(p.Options).Int("pages") < 1 {
		return nil, &OptionError{"pages", p.Options["pages"], "takes a number from 1"}
	}
	return p, nil
}

var pageCounts = dataset{
	name:    "page_counts",
	columns: []string{"id", "hour", "project", "title", "requests", "size"},
	create: "id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT, hour DATETIME NOT NULL, project VARCHAR(32) CHARACTER SET " +
		"ascii COLLATE ascii_bin NOT NULL, " +
		"title VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, requests INT UNSIGNED NOT NULL, size " +
		"BIGINT UNSIGNED NOT NULL, PRIMARY KEY (id)",
	index: "project, title",
	read:  "project, title, requests, size",
	set:   "requests = requests + 1, size = size + ?",
	fill: func(v Values) func(uint64, int, []Datum) {
		pages := max(1, v.Int("pages"))
		var hour, title, wiki []byte
		return func(seed uint64, n int, row []Datum) {
			page := n % pages
			hour = appendTime(hour[:0], time.Duration(n/pages%mostHours)*time.Hour)
			var project string
			project, title = pageTitle(seed, page, pages, title[:0])
			wiki = append(wiki[:0], project...)
			one, now := mixed(seed, uint64(page)), mixed(^seed, uint64(n))
			// Few pages are read by many and most by hardly any: requests fall with the power of the rank, and vary by
			// the hour.
			popular := math.Pow(1-unit(one), -0.8)
			requests := 1 + uint64(min(1e7, popular*(0.5+unit(now))))
			row[0], row[1], row[2], row[3] = Bytes(hour), Bytes(wiki), Bytes(title), Uint(requests)
			row[4] = Uint(requests * (2_000 + one%100_000))
		}
	},
	change: func(s source, args []Datum) { args[0] = Int(int64(2_000 + s.IntN(100_000))) },
}

// mostHours is fifty years: a small table of many hours begins again then.
const mostHours = 50 * 365 * 24

// pageTitle returns what page number n of so many is called. Pages are sorted by project, and by the first word of the
// title within.
func pageTitle(seed uint64, n, of int, dst []byte) (project string, title []byte) {
	at := float64(n) / float64(of) * projectShares
	i := 0
	for at >= projects[i].share {
		at -= projects[i].share
		i++
	}
	h := mixed(seed*3, uint64(n))
	dst = append(dst, titleWords[int(at/projects[i].share*float64(len(titleWords)))]...)
	for words := h >> 60; words > 4; words -= min(words, 5) { // none to two more
		h = mixed(h, 1)
		dst = append(append(dst, '_'), titleWords[h%uint64(len(titleWords))]...)
	}
	switch h >> 32 % 16 {
	case 0:
		dst = append(strconv.AppendUint(append(dst, "_("...), 1800+h>>40%225, 10), ')')
	case 1:
		dst = append(dst, "%27s_"...)
		dst = append(dst, titleWords[h>>8%uint64(len(titleWords))]...)
	case 2:
		dst = strconv.AppendUint(append(dst, '_'), h>>40%100, 10)
	}
	return projects[i].name, dst
}

// projects are names of wikis, sorted, with shares of the pages.
var projects = [...]struct {
	name  string
	share float64
}{
	{"ar", 2},
	{"ar.m", 3},
	{"cs", 1},
	{"de", 7},
	{"de.d", 1},
	{"de.m", 8},
	{"en", 22},
	{"en.b", 1},
	{"en.d", 2},
	{"en.m", 24},
	{"en.q", 1},
	{"es", 5},
	{"es.m", 6},
	{"fa.m", 2},
	{"fr", 5},
	{"fr.m", 6},
	{"it", 4},
	{"it.m", 4},
	{"ja", 5},
	{"ja.m", 6},
	{"nl", 2},
	{"pl", 3},
	{"pt", 2},
	{"pt.m", 3},
	{"ru", 6},
	{"ru.m", 6},
	{"sv", 1},
	{"tr", 1},
	{"uk", 1},
	{"zh", 3},
	{"zh.m", 4},
}

const projectShares = 147 // the sum

// titleWords are words of titles, sorted.
var titleWords = [...]string{
	"Abbey", "Academy", "Acid", "Africa", "Airport", "Album", "Algebra", "Alliance", "American", "Ancient",
	"Antarctica", "Architecture", "Army", "Art", "Asia", "Atlantic",
	"Award", "Baltic", "Band", "Bank", "Baroque", "Battle", "Bay", "Biology", "Bird", "Black", "Blue", "Book", "Bridge",
	"British", "Bronze", "Canal",
	"Castle", "Cathedral", "Central", "Century", "Championship", "Chapel", "Chemistry", "Church", "Cinema", "City",
	"Classical", "Coast", "College", "Colony", "Comet", "Constitution",
	"Council", "County", "Crown", "Culture", "Dance", "Desert", "Disease", "District", "Dutch", "Dynasty", "Earth",
	"Economy", "Election", "Electric", "Empire", "Engine",
	"European", "Expedition", "Family", "Festival", "Film", "Football", "Forest", "Fort", "French", "Galaxy", "Garden",
	"Genus", "Geography", "German", "Glacier", "Gold",
	"Government", "Great", "Green", "Gulf", "Harbour", "Health", "Hill", "History", "Hospital", "House", "Independence",
	"Indian", "Industry", "Iron", "Island", "Italian",
	"Japanese", "Jazz", "John", "Journal", "Kingdom", "Lake", "Language", "Law", "League", "Library", "Lighthouse",
	"List_of", "Literature", "London", "Magazine", "Mary",
	"Mathematics", "Medal", "Mineral", "Mountain", "Museum", "Music", "National", "Navy", "Northern", "Novel", "Ocean",
	"Olympic", "Opera", "Orchestra", "Pacific", "Painting",
	"Palace", "Park", "Parliament", "Party", "Philosophy", "Physics", "Planet", "Poetry", "Police", "Port", "President",
	"Prize", "Province", "Queen", "Radio", "Railway",
	"Red", "Region", "Religion", "Republic", "Revolution", "River", "Roman", "Royal", "School", "Science", "Season",
	"Series", "Ship", "Silver", "Society", "Solar",
	"Southern", "Spanish", "Species", "Square", "Star", "State", "Station", "Stone", "Street", "Summer", "Symphony",
	"Television", "Temple", "Theatre", "Theory", "Tournament",
	"Tower", "Town", "Treaty", "Tunnel", "Union", "United", "University", "Valley", "Village", "Volcano", "War",
	"Western", "White", "William", "Winter", "World",
}
