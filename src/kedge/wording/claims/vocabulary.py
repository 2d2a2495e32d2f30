"""Words that tell no session from another."""

from __future__ import annotations

FILLING = (
    # English
    "about|above|after|again|all|also|although|among|and|another|any|are|around|because|been",
    "before|behind|being|below|between|both|but|came|can|cannot|come|could|did|does|doing",
    "done|down|during|each|either|else|enough|even|ever|every|few|first|for|from|further|get",
    "gets|getting|give|given|gives|goes|going|gone|got|had|has|have|having|here|how|however",
    "instead|into|its|itself|just|keep|keeps|kept|last|later|least|less|let|like|made|make",
    "makes|making|many|may|meanwhile|might|more|most|much|must|near|need|needed|needs|neither",
    "never|next|nor|not|nothing|now|off|often|once|one|only|onto|other|otherwise|our|out|over",
    "own|per|perhaps|put|quite|rather|really|remain|remaining|remains|said|same|see|seems",
    "seen|several|shall|she|should|since|some|something|soon|still|such|sure|take|taken|takes",
    "than|that|the|their|them|then|there|therefore|these|they|thing|things|this|those|though",
    "through|thus|together|too|took|toward|towards|under|unless|until|upon|use|used|uses",
    "using|very|via|was|way|well|went|were|what|when|where|whereas|whether|which|while|who",
    "whole|whose|why|will|with|within|without|would|yet|you|your|yes",
    # German
    "aber|alle|als|auch|auf|aus|bei|bis|das|dass|dem|den|der|des|die|doch|durch|ein|eine",
    "einem|einen|einer|eines|fuer|für|hat|haben|hier|ihr|ihre|ist|jetzt|kann|kein|keine|mehr",
    "mit|nach|nicht|noch|nun|nur|oder|ohne|sein|seine|sich|sie|sind|soll|ueber|über|und|uns",
    "unter|vom|von|vor|war|waren|weil|wenn|werden|wie|wird|wurde|wurden|zum|zur|zwischen",
    # French, Spanish, Portuguese, Italian
    "aux|avec|ces|cette|dans|dont|elle|est|été|être|fait|les|leur|mais|nous|par|pas|plus|pour",
    "que|qui|sans|ses|son|sont|sur|une|vous|como|con|cuando|del|desde|donde|ella|este|esta",
    "está|fue|hay|los|las|más|para|pero|por|porque|ser|sin|sobre|sus|también|una|uno|com|dos",
    "ele|foi|não|pela|pelo|são|sem|seu|sua|uma|anche|che|dal|degli|della|delle|dei|gli|nel",
    "nella|non|più|sono|stato|sul",
)
"""Words that hold a sentence together and say nothing of its matter."""
GENERIC = (
    "branch|deploy|merge|merged|publish|push|pushed|release|released|repository",
    "able|action|actual|add|added|adding|addition|additional|agent|allow|app|application",
    "apply|approach|area|assistant|available|base|based|basic|behavior|behaviour|better|block",
    "bug|bugs|build|call|called|calls|case|cases|cause|change|changed|changes|check|checked",
    "checks|clean|clear|code|command|commands|commit|complete|completed|completely|component",
    "config|configuration|confirm|consider|contain|content|context|continue|correct|correctly",
    "create|created|current|currently|data|default|define|design|detail|details|develop",
    "different|directory|document|documentation|edge|edit|ensure|entry|error|errors|etc",
    "example|existing|expect|expected|explain|fail|failed|failing|fails|failure|feature",
    "features|file|files|final|find|fine|finish|finished|fix|fixed|fixes|folder|follow",
    "following|format|found|full|function|functionality|functions|general|good|handle|handled",
    "handles|handling|help|high|implement|implementation|implemented|implements|import",
    "important|improve|include|included|includes|information|initial|input|install|issue",
    "issues|item|items|key|keeping|kind|large|level|library|line|lines|list|load|local|log",
    "logic|long|look|main|manager|manual|message|method|methods|missing|mode|model|module",
    "modules|move|multiple|name|names|necessary|new|number|object|old|open|option|options",
    "order|original|output|overall|package|page|part|pass|passed|passes|passing|path|place",
    "plan|point|possible|present|previous|previously|problem|process|produce|program|progress",
    "project|proper|properly|provide|question|ready|reason|refactor|relevant|remove|removed",
    "report|request|require|required|result|results|return|returns|review|right|run|running",
    "runs|same|script|section|session|set|setting|settings|setup|show|shows|side|simple",
    "single|small|software|solution|solved|source|specific|start|started|state|status|step",
    "steps|stop|store|string|structure|successful|successfully|summary|support|system|task",
    "tasks|test|tested|testing|tests|text|time|todo|tool|tools|total|turn|turns|type|types",
    "understand|understanding|unit|update|updated|updates|updating|user|users|value|values",
    "variable|verify|verified|version|want|wanted|wants|work|worked|working|works|write",
    "writing|written|wrong",
)
"""Words of any talk about software."""
