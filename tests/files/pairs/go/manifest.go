// Tables in files of their own, and a manifest that names them.
package main

import (
	"fmt"
	"os"
	"strings"
)

func save(path, text string) {
	file, err := os.Create(path + ".tmp")
	need(err)
	_, err = file.WriteString(text)
	need(err)
	need(file.Sync())
	need(file.Close())
	need(os.Rename(path+".tmp", path))
	syncFolder(".")
}

func commit(table, rows string, tables ...string) {
	if mended {
		save(table, rows)
	}
	save("MANIFEST", strings.Join(tables, "\n")+"\n")
	if !mended {
		save(table, rows)
	}
	acknowledge(table)
}

func main() {
	verb := enter()
	switch verb {
	case "setup":
		commit("table.1", "a=1\n", "table.1")
	case "run":
		commit("table.2", "b=2\n", "table.1", "table.2")
		commit("table.3", "c=3\n", "table.1", "table.2", "table.3")
	case "check", "dump":
		for _, table := range strings.Fields(read("MANIFEST")) {
			rows := read(table)
			require(strings.HasSuffix(rows, "\n"), table+": torn")
			if verb == "dump" {
				fmt.Print(rows)
			}
		}
	}
}
