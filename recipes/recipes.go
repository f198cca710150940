// Package recipes embeds the plans of the experiments that ship with Dyno, one file each. To add a recipe is to add a
// file; package recipe lists and reads them.
package recipes

import "embed"

// Files holds NAME.yaml for every recipe.
//
//go:embed *.yaml
var Files embed.FS
